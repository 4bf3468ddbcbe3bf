/**
 * Verification by libsodium (optional package sodium-native), in six tenths of the time of OpenSSL. Only its acceptances count: node:crypto decides
 * the rest (decision B3). It must accept nothing that node:crypto refuses, so it is tried on the edge cases when it is loaded, and not used where it
 * disagrees (`npm run compare:signatures`). It signs too, twice as fast. The public key is computed from the seed each time: two signatures of one
 * message under two public keys would tell the secret.
 */

import { createRequire } from 'node:module';
import { asBuffer, utf8 } from '../lib/bytes.js';
import { errorMessage } from '../lib/errors.js';

/** Verifies `signature` (64 bytes) of `publicKey` (32 bytes) over `message`. */
export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

export interface Signer {
  /** Makes a signature of 64 bytes. */
  sign(seed: Uint8Array, message: Uint8Array): Uint8Array;
  /** Computes the public key of 32 bytes. */
  publicKeyOf(seed: Uint8Array): Uint8Array;
}

interface Sodium {
  crypto_sign_verify_detached(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Buffer, message: Buffer, secretKey: Buffer): void;
}

/** A verifier and a signer, or the reason why there is none. */
export type SodiumState =
  | { readonly verify: Verify; readonly signer: Signer; readonly reason: null }
  | { readonly verify: null; readonly signer: null; readonly reason: string };

const KEY_LENGTH = 32;
const SECRET_LENGTH = 64;
const SIGNATURE_LENGTH = 64;

/** Opens libsodium, if its package is installed, and checks it against `decide`, as `checkedSodium` says. */
export function openSodium(decide: Verify): SodiumState {
  let sodium: Sodium;
  try {
    sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
  } catch (error) {
    return unused(`sodium-native cannot be loaded: ${errorMessage(error)}`);
  }
  const verify: Verify = (publicKey, message, signature) =>
    sodium.crypto_sign_verify_detached(asBuffer(signature), asBuffer(message), asBuffer(publicKey));
  return checkedSodium(verify, signerOf(sodium), decide);
}

function signerOf(sodium: Sodium): Signer {
  const secret = Buffer.alloc(SECRET_LENGTH);
  /** Computes the public key, and runs `work` while the secret is there, which is wiped then. */
  const withSecret = (seed: Uint8Array, work: () => void): Uint8Array => {
    const publicKey = new Uint8Array(KEY_LENGTH);
    try {
      sodium.crypto_sign_seed_keypair(asBuffer(publicKey), secret, asBuffer(seed));
      work();
    } finally {
      secret.fill(0);
    }
    return publicKey;
  };
  return {
    sign(seed, message) {
      const signature = new Uint8Array(SIGNATURE_LENGTH);
      withSecret(seed, () => sodium.crypto_sign_detached(asBuffer(signature), asBuffer(message), secret));
      return signature;
    },
    publicKeyOf: (seed) => withSecret(seed, () => undefined),
  };
}

/** Verifier and signer, if `verify` accepts edge cases but none that `decide` refuses, and `decide` accepts what `signer` signs. */
export function checkedSodium(verify: Verify, signer: Signer, decide: Verify): SodiumState {
  const message = utf8(EDGE_MESSAGE);
  let accepted = 0;
  for (const [index, text] of EDGE_SIGNATURES.entries()) {
    const bytes = Buffer.from(text, 'base64');
    const [publicKey, signature] = [bytes.subarray(0, KEY_LENGTH), bytes.subarray(KEY_LENGTH)];
    if (!verify(publicKey, message, signature)) continue;
    accepted++;
    if (!decide(publicKey, message, signature)) {
      return unused(`sodium-native accepts edge case ${index}, which node:crypto refuses`);
    }
  }
  if (accepted === 0) return unused('sodium-native refuses every signature');
  const seed = new Uint8Array(KEY_LENGTH).fill(1);
  if (!decide(signer.publicKeyOf(seed), message, signer.sign(seed, message))) {
    return unused('sodium-native makes a signature that node:crypto refuses');
  }
  return { verify, signer, reason: null };
}

function unused(reason: string): SodiumState {
  return { verify: null, signer: null, reason };
}

/** Message that all edge cases sign. */
export const EDGE_MESSAGE = 'tessera edge signature';

export const EDGE_SIGNATURES: readonly string[] = [
  'GEwv1uXKpXOdNEHVeJRlmCxV9VTjN6PkioGxAihtrYOBxgCWH/MFqHY+t4ILyGNQ3ndhyS3vIJPA4ZSDMNsQRPJVAANLhesz2HawAPwFFwL/ouTSI6Fcu0uOfoOQTd0J',
  'QMTBVdBgfhJHpD1iu3pjR9OdA3zGWqoA0MRVVV0XIbomg/451U27L7aGlcavHBuCjFtTyQlPcKX0dSwrpgwlo4DFrPJZLdS6mdjYxw4i5VAOihIV6CefBbtMSIVI+aEA',
  'elzxuBPUZA0RZESfZa/ua/CCn+9RdjyY4Mbplr9xjUva0C74ndAj2DzU1cVLmbbskPk09cCPsEfZtyWFWoNRIOeka+PUaPxn6kBiLuhENRTtfxpgod/Oqarlfjf+X6AJ',
  'h4Mt+7I+ccwhDWJDo7/A+NqioRU0rX7fnLp+f8ahGNZJLnilB6QIIf2FoPp1hzS3Mn6P8NO8gcldXkVvA3ywZkPKCBIgIh5eF/vqCfVFSJtfjVOPRr1YOwF616eErBwI',
  '9H602L2wN5ywgU7CcBluc3h7m69T5K/mQF2OYG72jb4JAz9KYL18Wvg/5z4kG/QAxIqqR0C/jd6OtO4DPEyH9BFFcxmWZ1tkCazAq+eMPfWtSfjITOIhdTRWReoz+3EJ',
  'OusNTEyMg+3AEglPCF5f+cfLej+wkt23kA6zvrLH60XZdWV+LZpRDZk/xz3hHQnyPrzfbD+SFC/f99mhKeEGn9BURqhQ8K8Uw19huKVpNXCU0Oa107gsCg4IwMzJCRoH',
  'b9IiWtdXM+l2dxehO6a6dAJZ8zFDJNoCPBIwuAtQxS7ghwzX/Xil8EvtOUkFldDi0f0HCiiW9GDoyeWQ2f/xI3qWW2oe42RjRlfoSD2EAsts5kM/8ZS7a75JY8qYu7cO',
  '0FKPEeVqafi5tFJZ+kvfEBnUJ002ZR0K7+5MRvs2l0r1J9Su/y9ryIAmFDXsgvXZaT0cSSWH7U7hNL+5mnDK3eBXKK9t9rLaXXwc2RrjkrcXDtgsyWlPJSgZSwT804UJ',
  'o/73cbtmvYlNU51FPh6n10fgjU7+4evy+s2PoCIFECg1iPW8pqiRWVHu9Jj7FaSVmuofrPZ6Su2mHCUbabCfU6mFdf/V5v2Jd2UTF+PdGcS/3tqITrAckbD+46EhVXAJ',
  'NVZ0rwYKEe6Wqga4JFfvhSwqe5rAlN3LEDAF872MCIgBTjTNdBL/7RJFFpxfP2s8nEhACNo3w19fntWdWE1Q/VxoER93gBg6+v+DdVxp3bfu4WVDI0yA1KIWRRgiU2wC',
  'LNYY10WKU837FQzZCT41DTaHDKR1RKIgXhvstLr776qBQpsD0uSzoOC0VeOo2IcIAzTXHAI9mmQ5KqlesuloOI+CeZoFlwNQk2RffnLVwD4mIqxFG5zLh0C75MhH7rwC',
  'tUlwVZIXTH7UUZDQEs9dWC+HkJXwNLZS4a8RHxV//c6p0JUaWcP8IaSXg++updqDI5nJaTM1KCOuO9+1pGUQ7eP//r3SDIL9Wbn4HcWBndS2QDGycwMJW1zgdJZwiscB',
  'aydpQfpx7jG2fl+jvMIm1dfDdFn6L21XuaTU3s0YrUV2/jM5+FJlgJo+fSurkCDR0zHOuwXAAG5xgDOflALs6xXSW2GarRPwXkD7erO3/CFp8bcXKiRV/6rwwxklg7kL',
  'XRcUQ0EKhHi7OLaKb8OJGGN0euNjcUtH9Rf/kpiT5P8sdYZL5rCk5m5OIbPhPZCsPZFptkofyCkA1LNBU0VTfj3BfctFUzf765qzzlJfEN8zrhJ/mBqoI+zaznUBF6UH',
  'YzqXuRPPkyr7lWnqqY1iJGdKac49py+mikBYDS1pyhD3l5Dz8dUg8YyvJ9X1jzqrqv+uUx0Q3Ibdbqzm3jLrXMgmUOJSII4Pn9iphD43HCLWw3Ke2qXFzPc4ds3B+mcO',
  '/JlNjkYoUrIEmGvlqqajzxsZLUPPItyzB/zVw4gTVtk34+S+911IbIerhKxueAkH8dxUZVlIEBJdXZX7/iBS7lFtmmZployBdwfg1U11JTWJvse49FOLEYq1ZOuvXRcN',
  'iRrD6As1Y+LTp0f0NtYhONYeTOmTCgt7jjWpTVCF1iGBQv098CXYlZFNMnZMb4hd7sALditzmZLmC1cwuArNu+QAoCc42/JN8+w0W99tBseLes7q/j3geKEbOrvWCPAI',
  'h1mFZ5frvLu8hOWYCesKh+TH7KJEJDMMonWBDXpSj81pfArFqwdTgd1SU6gAvv6UiAwFJx8FdFyolv1aI2/tUhtN77AwkaNiiAr+C1nkbs9LuIBXu0+3aGQEmbJm5r0B',
  'kikZpxfVE27bVY8XBLXcp1qaRq2i1DJoqoNNVINE0QQJFUCNuP+DiObsYQfeMtLKuE+pT3HJmiH72GFcVKJxSomybL+R61bmIUIQlBtJsB7jQC8pLIF6PQShGeLT+WwI',
  'wyDI1YxCtRCHV+RIpRbWhIFe84oeTJM6gngLCfzNBuVZ/N54/KFgR2KornG5bv9yXZX9brMdSosV/adjRJDSrwFFow4Lk815+VTZj1oBShgPiMySGyY7Pv3Bs+2BZ7MM',
  '7ziXcorL2X+efNLw68HPXKRmtrdvLFi9/U7zjUI1YJf9RDpNydg9nt3a4YHXItZXEtDM58zU0YQOQGNSf5rw0KSfZJOxQt4FULClARpFo+5HmXBBarnpyho15cYp9MkO',
  'yrokgBuDjpgBiobQYxzSp2WHJhacBvX/bG3iPj2Q7nmAF5YZayofzPcyel9tfO2dhnOmD4hj28JtIvJ5XIHFiaIw/PstbPMfp2Vwqhu/TRHZPZKbEe1//jY6D2XVmosB',
  '9vzb8xDhYE9tLnmxgqFB0aDpnwBh2Ighctflj5o88VqtkydtLa5Y97rfwLzBfRL/CzBiGwxH/6ZU46P+wBp78wDvhoebIMKwA8VeheYMnTzIp1mewRCsG17rOOEccsYL',
  'fB03JWsuyjqr7r/YAlKijqzM/viCTP5NcZXblII27Sc++rKx6T+I+KNtAi9woTFi5fDttuqkuNjbZ5wDmyePBXi8YPndSaApkCh7IiqGkgw/CZjJwp1s2XdZTDcPTf0C',
  'lq+/VCYfc+mefUND37hpso5MDs2CYJdygd8pjGSYcXvQ/6GQhGBh8OCOT+n99pjcZ4WC8XCiuyQrDLzY2nyGVNkIfIXz3G7SptiZmU95PGiy/PbOuTgTa6t6xFmk6CUI',
  'p/qemXwfGk4EVG6UpAoinohAtKTBZy7mgwD7ZXW2//n4kCfPlC8gfXwB3e2NJO7C8KbgoeR9e/lwZtO5I4QLh94skMlEqLswfC6ZAirTMqaOxH2Cdd43AQTJxSrmRMQG',
  'jmgGzD7MSchbFlUKHJfZvIkvxUwEjiWoCUmfSwymN3A+a2A6Wiuw6PW5Z1jzjZbh7TQqu8Uq5Km9fKAYt9ijd7gkIcUyH601cnpDzYdYqAGGpQInkKBFV7+dG+FhN6AO',
  'Bw0fXQPShMzE2xE+zNkiizpmUoi513bifB/C3w5w9Zss1gk3r3sWq3oPTcOMIISwCG7N58vVAEV2d11waafwedh9FFYKoBCxMIJrNkt5dqZsjSjmJoTeSHWJXs3K0UwD',
  'K14sSZJljrfzfu/+09lKEFrzYI8G0eg/ELF/a/LAEXnNxygoctfjICEaIfC4EO0y1j5JW2PL6qHh6kAfLRE36t+vtmcM5rZHy5k/6JEaver6z93GzSBUW+A5zMd9Kr4J',
  'VUL1xyMq4m0EuHKt8Ru0/UisujVKr1h/PoP7PySfBRnA7FSYsi7X61YVfkGH+HWDVkYFVv3oMzIJJg4uUZNdJE+n5nyADwwfKVyWIdzW7kwyAAhpbgnz+ngYTjF9VuAJ',
  '9HuMUp/u1ZwtpG6BiZeFHEovofNNmUW1gTp9FN3cQWytS6El+XAjgPRjfl+OkAU8TMugFcvMpAV6lk/Bp5NXz44gzZfwDAOD0ODlGZUxpElN7ts8cemGtvAwQIQ15gwI',
  'PD4kspquQ18NkBt58FLy92WZXNO+R1LnHDJ1rPKEpO9p/cc7ZZS27CFYXq8zT9WBZxetmhNG9eFxpbQFRSwrQHH3yoi4ykhHFwzMdLl6XuXUS2M3aDaibh5N2dBDOW4N',
  'z+5cTf9QrQetYClOc6cqp5EhfDOi0DiWU3AGFTNHFf9WtOHDZ4QZnPVMf96A+HfiPSj2ZYGTSAs4Vl2X9YPIcZY6o1OQu6yyn8IgoiEDntgiNwi2oym1fLlKcUnIeO4C',
  '2ubtt+j7rb9NgrbHhETD4wktrA6pph8jHNX/YweqzLm4IhGN/BDIYr1sb3c6fi0kfsk9Uz/aHwNErTuRim36ddG5aOTNeqkV02yFuO7JkpSH3XxUuhygrE/glPF8wP0P',
  'uAkCOFSEhAc6k84Y5TcO4a6e23e5C7gbPMz0EzhfkI85JvHheA7U9aSxp/VneLTsyrExcgw3mCDss7YOL4xJDoGbdKjfolcQhGDnJm521dpGmp9Excmei+kd24/ig1YM',
  'nqd8Nns0lD4ot1KE6i86JaGf6BilUg0ara/LF1KRc/HkcrUlCKz+/dQemp7w/1DeEaCe2r7LkYsp8jI3cGB5wf9Zd6ro6TBawQQ/ZzF48FLBw+y9Zvm21OlF6E5QaHgO',
  'Y8IuiilWinBy7rg/UJ6O64AJ8TFvm0ymAwhkdNruKc7bg7SpyH0ZaN5iev/8G6ThyRBqzeLiidWROGBgfH61ddTRIbKx9sMRjiCI3dFbDAOFyYZANV1cwmKvUj2JcJQB',
  'u7048/LUv3Uw9NccOoKRrkil5twDACmG26UVSSdHEmhDTx4c+0gRWkmWs1tzu5pobDeNBRfNzVLk/bG14wSJKgp31jDtJcllMoYl0jyDPezZ5YrbcQ+tipBWL0BiQOsJ',
  '+lqZmvfOlQXoFadoyZr7epm6IIyx2yRPVG3Z1VNRqDEN/bdAx+HCQG5Rn0sJoYwCZ0GWLL5g1bDvMZzd+j/9QwWCbfZC0YRIyoEIRBUsRwJjntks+m6Vhx3TFSkCxikA',
  'kwqrCSD7Ik1aCGUido+Kqi51oOiTDr4LPO9cJHFvYlBJtDkIO8z+y5QsWjsj+ByQX+qmt005XteMzXRMk5OcXWNkidCfWpc6ZGWspqAMGVGOCSCW95Gq5yFi2x6hnloP',
  'Hm49HBD1FRw11Kmts70OgUyqps/MPPsNlkJW2tn4CDd+CueV/OKmY2CtYOf3vuz/FN66JUBH8NCvNSni8rCudfzrooj0/CrWFQGMjJkq10vUL3Ly1zjdiTMBN4i+HsEN',
  'HPynx/amqAjRCp5HzuqHUP9ePhvXivK4ncFKIWH3vIAPSmO0qJdrYHEhswMHF/XbnQlDJAj1ksxftJsFEGQHhORVUPn5HgHqSXra7K1f5yeBQ9a6Qn1rlgKW7hOInKkK',
  '3ueelRnKStu5LXBFeYZeYQR/lWHy4gyV5wOqmGBohC9NwLFNNpVSwoHGWMZ5kseZ7PNHtkH6Xp3LN1IhFyk2bfkXApEjugeLlNaWYaVTmXYFEOPfkZmFLYadePr6ciYP',
  'vLtCaoPCozO3UJNTcOWSjo6ACHkFT+3NKkq8NYfScXGm6Nkf+FiwA15IDN5t1YemBHxNw3+LY3x8No0jMp1+ZPrSUXUUR3foO/M53Y427t5jGZc+8yFwhh84csaDVtsM',
  'hTdkal/J8oBR0fSLBZGhFuLrfk5g//L9lKmIarVmg2vR0rbfE7mCIEU+J++UFJIcTJ28UQonWiP6hMrCnxFLEc7ZHXKuP5dM1ZL32FS2jpmcb2o9ctFIlE4fIMBxJc4B',
  'uGEesdsn6gi5ZEjTHIPsfMqtGn0cjQLH0e/OuIGbwmp0gSvj7JgFZMk7edfUk2YhOD/A6GSKIU56xJ2wp5jjN5JkPyX+xhBDM9Pef6G3z3dEALdl4VPac3YnYlKGDygP',
  'S96Gy5uxChj2JNYz2OZfU8PHcipujl5x9f1MaCExiolaPckunn3aCf0ujSPCblKYSC8QurgvZ4AgcRhK97yj0htGEM6SmEEci7Kw6GfSzQJIulMOOo1pNqJiy9TfV0YD',
  'QKA+OhRdZEl896Idox7CDiNLCdL+F59m5KkBI8WcEFOgD6RDoKtnnuE3Ocm4937X1+kF1rGZr3BOnuGLW16ucL2Jbms5b6TxvUtI5r+/7r2LyZe91EpjGnUXTUnD2DkK',
  'Dlrv7rLb8x97o8VoAy0mewrqCFUyfHfgHnJACe/Up1Z3TOzKnNykjsQ++3VNVQJIOoDIXW/eazNkKvy8yPY4OmyMPiUzyW1bQrTHXizl5MGDyv8aSW+DPyVSOYy1OLkH',
  'PqYkxBKuV10RqWtSpko1fu7uLq1A2rzJLe59i8Kz+o9+WZWXYlOGImcJSKdvlO+S+i/9epV4xxY2pTW72NVgiKa7Hod+l9l7/lIO53N+1MRdaOcNCTEQIVJ+KweefScJ',
  'iU2oHcv3E8xpdyrP41LN9JJwZn7NmzSji6RWLx53IQmZwTp1JGpVgH19ld0BewX/P6PC1KPuZjdb7Ue+Cm9CK9vkgSq5NMoOkbrcc7slphhTRjJlhcf5TqQEgzl2W9oD',
  '0izIARM4vhm+b0HX8f+HOceDJnWRAKpRoo5aGq/dIqK8VTrB34SmFEJLH/Y3Y4pshaoFzM0UFkYYJGUcQTkimi/dBCFags69k8RFaBKt5iw6N4ONMcoUOEKIlbILjsgE',
  '65QwcaGpVPiWu1n3Ghrh1zGFkZWjz2/2/AmuDb5Lu4fgDSQhhs2qIHKP9CQerUmODB+2LoV263c9Tb7CYWlsIkxnbc55aQvxKQN6x5eY7naTMFHzW47vgHgzhMJE7GUF',
  'gGzcOB07M1nT9N6o3Q60fSkfJFhZnGImet5jFbnCGzGhI1fmRkCEUcGk8Ku/xbMMo4w7tjujc2X2eBpLLsi4dk7ZEJBKTEZBZWzzKVTllrJ3Fz/DIcr3oB1fK7uAFwgK',
  'puiMiNDVfWp3LuPrTAKUFdKYg8vUNFQC42DIK2qpFW4+9J0VPb4vlna5hcT1HMl25XeUgVPv5dlzNgUyuELo5eKbWeIM4WA9+yr92rKAQMxNjHno7ZpAbJWinvXc00UF',
  'FS2mIM+5ZPWJZmg3haw3rrcV1JoY31H0eRbRWuMrdCOTDiAqdWbts79qaIXAXALuS1erpUjEQ+czXUluRg1EZK0FeO1EA0/ZI1MvXzDxyocQJzpX5ucgEugWOmNWtqMJ',
  'S4cN+WEkniMBi/Qt9SQV0g6lfPQrIsSb6JSsAUTUzkYqHIebV1D0Qw+7OsEtbbB9X2W5TscrCECPOASaCYqFuCio9QqAJiEWMGnnT83g1RdFYSfopnPWYjxiIHICRSsI',
  '4A4Xc6G9L9cTnJwrbdhz5aAbbqQ2pENGD6PBcbZrMl3sOuNp/SZk8ovRT603H4fHWbTt9OPtqnIyhfGSYt0QnihUF3WmvhYeIaO5kU4lXdXXFOURukjm+Rvjlj90n/oG',
  'nZvvkvSozmzsJAkHoLjS8wrEDxGP0SazD5OFEPZi3w4U6GrZaRMOiw309+p9vegOHJVy+UqxYouyVfu8Rfc12wanDMO4EvHIHtoZwdP0kY/0dwGUgf/Wv9J73LQhM2UA',
  'Tf8xBi1f6A5gV4U6HbyDdr0W8LY7wDUyB0mXE7r1NoJmmM8Z/lLUg5BLr6as4Sdp3I20R9ZJFR7/XDz6C2Es62HZ4HlOMr1U9ggT5cNHXwA7zRPRgdz8QUZ4cb650zwB',
  'nVd18lYqHYB38ZS0hnhwDpge0EeVIEifNTu0KMF/v9rnIdy2371Gkd4k82G1h8OZ2jWYsYo0qb9bBPA7PXQ2P/pSS3sG5AkAcEU1HZDYGpT8+P4JWhxLkJM2aKo8jnID',
  'PDk5wDRiblv3+gra8FXBGTRUx/LUH7nQAnWUOGKoWF5RFLPWxdhfzY8aW45rFG+eUgL4wyKbba3cu9q3Z36WBr1333T0o7bXe32jFzuhx1eOiDQfgFUXHjsKbG4ZgO8J',
  'nXjkSo4B3rHXNEcoCxDeFDNlJOGWiKh8kHCRdRq/pOW7O89XLfP3EHk7efjJjGLDrZDXwbrumN8XxQ+myerU1QgxxmsHUD9UsrdzNnoIwI6y1ybv4Nj/I27M2BPXeyIF',
  'QXHJ2xSSc2/gl4veeCPf7K3kMypCAdOsZwUmzaeiJXw69ZS7WhVAZGyhsjdueNRf9YbuxI8WECxX4HMUA1lziW2GYtLBQLT0ohNcCCxvjCFNJAU8jXFnAXVqW6D7dkYM',
  'LvC309bIRNf7zAKjR4AKg35i75tRifUWK31tByAbhMOYBsY2LHQc+fxkC2s/bF8nfNAdvbXAZmErk6E/vjxLrLeG9a19EIp2gxwXphWx9iJsxRLLOgE2dtGycmDbk+cR',
  'uDHViWs0B6KUn1G2wFXKehJLdHDPo0rhsWcjxmfVVTMBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABXVp6PHzxk4BmBt6ZeKW97IOnZDgdEj9ccAUWEJdZ8O',
  'OVTnsoWyx4WrU9t87PdO2x95u9T93gJsv83bOERgIK3u////////////////////////////////////////fwLp5mD3sh5N/RNBdfaA/kQPH9Xrld+tQJpes2J86e4N',
  '1aDiG+fLfEegaVkxM3iiEawoRWt8mx8b3jSHJ2RHlCoBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgCDY7a4Af7f1OVxzY3abXt2OXt/1LFjlAIpVAkrdGx8B',
  'jm6qWLHlZjoFjJuHXfKBu9plAhdU1KAvPb2ozWVZno8m6JWPwrInsEXD9Iny75jw1d+sBdPGMzmxOAKIbVP8BXv5MC2FY7KGYamfcd6OF9ls+l+hcxpLM0o4uXJgIlMJ',
];
