/**
 * The `fetch` of tests with real nodes. A node that gets no processor for seconds refuses requests until it does (rule P6), and says when to
 * ask again. On a machine that does other things too a test asks again, as clients do: nothing was done with what was refused.
 */

/** What `src/api/http/access.ts` says; other refusals are what tests ask for. */
const REFUSAL = 'The node is behind with its work';
/** Milliseconds, as other things are waited for (`processes.ts`). */
const PATIENCE = 60_000;
const PAUSE = 250;

const plain = globalThis.fetch;

const patientFetch: typeof fetch = async (input, init) => {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const answer = await plain(input, init);
    if (answer.status !== 503 || performance.now() > deadline) return answer;
    if (!(await answer.clone().text()).includes(REFUSAL)) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
};

// Files of quick tests share a process.
if (plain.name !== patientFetch.name) globalThis.fetch = patientFetch;
