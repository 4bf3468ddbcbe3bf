/** Every failpoint of the program: the places in its code, and for which databases, files and messages each is passed. */

import { NODE_ROLES } from '../../src/lib/roles.js';
import { type MessageType, PERMISSIONS } from '../../src/peers/permissions.js';

const DATABASES = ['archive', 'journal', 'mempool', 'wallet'] as const;
/** Those that LevelDB opens. */
const OF_LEVELDB = ['archive', 'mempool', 'wallet'] as const;
/** Files that are written by `writeFileDurable`. */
const FILES = ['api-key', 'keystore.json', 'node-key', 'tessera.json'] as const;
/** The outputs that a mempool node keeps an image of. */
const IMAGES = ['utxos'] as const;
/** A state goes only between mempool nodes that share a journal in etcd. */
/** A command is applied in memory, and its batch is written. */
const MOMENTS = ['applied', 'written'] as const;
const MESSAGES = (Object.keys(PERMISSIONS) as MessageType[]).filter((type) => !type.startsWith('snapshot.'));

export const PLACES = {
  'folder.locked': NODE_ROLES,
  'folder.database.made': DATABASES,
  'db.open.kept': OF_LEVELDB,
  'db.open.before': DATABASES,
  'db.open.after': DATABASES,
  'db.open.forgotten': OF_LEVELDB,
  'db.open.sealed': DATABASES,
  'db.put-back.files': OF_LEVELDB,
  'db.put-back.current': OF_LEVELDB,
  'db.put-back.after': OF_LEVELDB,
  'db.write.before': DATABASES,
  'db.write.after': DATABASES,
  'db.write.sealed': DATABASES,
  'db.close.before': DATABASES,
  'db.close.after': DATABASES,
  'db.close.sealed': DATABASES,
  'file.create.before': FILES,
  'file.write.before': FILES,
  'file.write.after': FILES,
  'file.sync.after': FILES,
  'file.rename.after': FILES,
  'file.folder-sync.after': FILES,
  'segment.append.before': ['blocks'],
  'segment.append.after': ['blocks'],
  'segment.sync.after': ['blocks'],
  'segment.footer.after': ['blocks'],
  'segment.closed.after': ['blocks'],
  'segment.replaced': ['blocks'],
  'segment.upload.before': ['blocks'],
  'segment.upload.after': ['blocks'],
  'segment.stored.before': ['blocks'],
  'segment.stored.after': ['blocks'],
  'segment.removed.before': ['blocks'],
  'segment.removed.after': ['blocks'],
  'archive.batch.before': ['archive'],
  'archive.batch.after': ['archive'],
  'image.begun': IMAGES,
  'image.pieces.written': IMAGES,
  'image.synced': IMAGES,
  'image.folder.synced': IMAGES,
  'image.named': IMAGES,
  'image.noted.deleted': IMAGES,
  'image.removed': IMAGES,
  'overlap.cut': MOMENTS,
  'overlap.closed': MOMENTS,
  'overlap.stored': MOMENTS,
  'overlap.adopted': MOMENTS,
  'send.before': MESSAGES,
  'send.after': MESSAGES,
} as const satisfies Readonly<Record<string, readonly string[]>>;

export interface FailpointName {
  readonly place: string;
  readonly subject: string;
  /** As the program takes it. */
  readonly text: string;
}

export const FAILPOINTS: readonly FailpointName[] = Object.entries(PLACES).flatMap(([place, subjects]) =>
  subjects.map((subject) => ({ place, subject, text: `${place}:${subject}` })),
);

/** Only nodes with an object store go there: `test/storage/segments/object-store.e2e.test.ts` leads there. */
const OF_OBJECT_STORES = /^segment\.(?:upload|stored|removed)\./;

/** Storage has another block just then: `test/mempool/overlap-kill.e2e.test.ts` leads there. */
export const isReachedUnderLoad = ({ place }: FailpointName): boolean =>
  place !== 'overlap.adopted' && !OF_OBJECT_STORES.test(place);
