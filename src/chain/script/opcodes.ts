/** The 98 opcodes (docs/chain.md#opcodes). The wire carries the declaration index, never the discriminant. */

const GROUPS: ReadonlyArray<readonly [discriminant: number, names: string]> = [
  [0x00, '0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16'],
  [0x20, 'NOP IF NOTIF ELSE ENDIF VERIFY BURN'],
  [
    0x30,
    'TOALTSTACK FROMALTSTACK 2DROP 2DUP 3DUP 2OVER 2ROT 2SWAP IFDUP DEPTH DROP DUP NIP OVER PICK ROLL ROT SWAP TUCK',
  ],
  [0x50, 'CAT SUBSTR LEFT RIGHT SIZE'],
  [0x60, 'INVERT AND OR XOR EQUAL EQUALVERIFY'],
  [
    0x70,
    '1ADD 1SUB 2MUL 2DIV NOT 0NOTEQUAL ADD SUB MUL DIV MOD LSHIFT RSHIFT BOOLAND BOOLOR NUMEQUAL NUMEQUALVERIFY ' +
      'NUMNOTEQUAL LESSTHAN GREATERTHAN LESSTHANOREQUAL GREATERTHANOREQUAL MIN MAX WITHIN',
  ],
  [0x90, 'SHA3 HASH256 HASH256_V0 HASH256_TEMP CHECKSIG CHECKSIGVERIFY CHECKMULTISIG CHECKMULTISIGVERIFY'],
  [0xa0, 'CREATE'],
  [0xb0, 'NOP1 NOP2 NOP3 NOP4 NOP5 NOP6 NOP7 NOP8 NOP9 NOP10'],
];

export interface Opcode {
  readonly name: string;
  /** Position of the declaration, as bincode writes it. */
  readonly index: number;
  readonly discriminant: number;
}

/** All opcodes by index. */
export const OPCODES: readonly Opcode[] = GROUPS.flatMap(([first, names]) =>
  names.split(' ').map((name, i) => ({ name: `OP_${name}`, discriminant: first + i })),
).map((opcode, index) => ({ name: opcode.name, index, discriminant: opcode.discriminant }));

const byName = new Map(OPCODES.map((opcode) => [opcode.name, opcode.index]));

/** Number of opcodes; every index is below it. */
export const OPCODE_COUNT = OPCODES.length;

/** The name of an index, such as `OP_DUP`; undefined for an index that no opcode has. */
export function opcodeName(index: number): string | undefined {
  return OPCODES[index]?.name;
}

/** The index of a name such as `OP_DUP`; undefined for a name that no opcode has. */
export function opcodeIndex(name: string): number | undefined {
  return byName.get(name);
}

/** Indices of the opcodes that the code names. */
export const OP = {
  OP_0: 0,
  OP_16: 16,
  NOP: 17,
  IF: 18,
  NOTIF: 19,
  ELSE: 20,
  ENDIF: 21,
  BURN: 23,
  DROP: 34,
  DUP: 35,
  EQUALVERIFY: 53,
  HASH256: 80,
  HASH256_V0: 81,
  HASH256_TEMP: 82,
  CHECKSIG: 83,
  CHECKSIGVERIFY: 84,
  CHECKMULTISIG: 85,
  CHECKMULTISIGVERIFY: 86,
  CREATE: 87,
} as const;
