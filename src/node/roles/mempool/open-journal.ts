/** The journal of a mempool node, and who leads those that share it, as its configuration has it. */

import type { EtcdJournal } from '../../../journal/etcd/etcd-journal.js';
import type { Journal } from '../../../journal/journal.js';
import { type Leadership, soleLeader } from '../../../journal/leadership.js';
import { LocalJournal } from '../../../journal/local-journal.js';
import type { Service } from '../../../lib/service.js';
import type { RoleContext } from '../role.js';

export interface OpenJournal {
  readonly journal: Journal;
  /** The same, where other nodes may write to it too. */
  readonly shared?: EtcdJournal;
  /** Started by whoever has the state, once it is loaded. */
  readonly leadership: Leadership & Service;
  /** Held by the one node that makes its state anew from storage; where several share the journal. */
  readonly rebuilding?: Leadership & Service;
}

export async function openJournal(context: RoleContext): Promise<OpenJournal> {
  if (context.config.journal.kind === 'local') {
    const kv = await context.dataDir.open('journal', { isLarge: true });
    const journal = await LocalJournal.open({}, { ...context, kv });
    return { journal, leadership: soleLeader };
  }
  const { openEtcdJournal } = await import('./etcd-journal.js');
  return openEtcdJournal(context);
}
