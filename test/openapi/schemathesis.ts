/** Runs Schemathesis on a node, and compares what it finds with the documented exceptions (docs/openapi.md#schemathesis). */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/openapi.md', import.meta.url));

/** Something that a check found fault with. */
export interface Finding {
  readonly check: string;
  /** `POST /v1/payments` */
  readonly operation: string;
  readonly status: number;
  /** The code of the problem document; empty for other answers. */
  readonly code: string;
  readonly detail: string;
}

export interface Exception {
  readonly check: string;
  readonly operations: readonly string[];
  readonly codes: readonly string[];
}

export interface SchemathesisOptions {
  readonly program: string;
  readonly url: string;
  /** `examples`, `coverage`, `fuzzing`, `stateful` */
  readonly phases: readonly string[];
  /** Most requests of each operation in a phase that makes them up. */
  readonly examples: number;
  /** In ms, for the whole run. */
  readonly patience: number;
}

export interface SchemathesisResult {
  readonly findings: readonly Finding[];
  /** Requests that were checked. */
  readonly cases: number;
  /** Operations that were asked. */
  readonly operations: ReadonlySet<string>;
  /** Times that a link was followed. */
  readonly followed: number;
}

/** The table of the document. */
export async function documentedExceptions(): Promise<Exception[]> {
  const [, section = ''] = (await readFile(DOCUMENT, 'utf8')).split('\n## Schemathesis\n');
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| check '));
  return rows.map((row) => {
    const [check = '', operations = '', codes = ''] = row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return { check, operations: operations.split(', '), codes: codes.split(' ') };
  });
}

/** The findings that no exception covers. */
export function unexpected(findings: readonly Finding[], exceptions: readonly Exception[]): Finding[] {
  const covers = ({ check, operations, codes }: Exception, finding: Finding): boolean =>
    (check === 'any' || check === finding.check) &&
    operations.some((operation) => isOf(finding.operation, operation)) &&
    codes.includes(finding.code);
  return findings.filter((finding) => !exceptions.some((exception) => covers(exception, finding)));
}

/** `GET /v1/chain/*` is every operation that begins so. */
function isOf(operation: string, pattern: string): boolean {
  if (pattern.endsWith('*')) return operation.startsWith(pattern.slice(0, -1));
  return pattern === 'any' || pattern === operation;
}

/** The operations of a document that are not asked, by id: streams never end, and a chain that is taken back changes under all others. */
function leftOut(document: OpenApi): string[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.values(item).map((operation) => ({ path, operation })),
  );
  const isLeftOut = ({ path, operation }: (typeof operations)[number]): boolean =>
    path.startsWith('/v1/dev') ||
    Object.values(operation.responses).some(({ content = {} }) => 'text/event-stream' in content);
  return operations.filter(isLeftOut).map(({ operation }) => operation.operationId);
}

interface OpenApi {
  readonly paths: Record<
    string,
    Record<string, { readonly operationId: string; readonly responses: Record<string, { readonly content?: object }> }>
  >;
}

/** Runs it with every check and the same requests each time. Throws when it could not do its work. */
export async function runSchemathesis(options: SchemathesisOptions): Promise<SchemathesisResult> {
  const { program, url, phases, examples, patience } = options;
  const document = `${url}/v1/openapi.json`;
  const excluded = leftOut((await (await fetch(document)).json()) as OpenApi);
  const folder = await mkdtemp(join(tmpdir(), 'tessera-schemathesis-'));
  try {
    const report = join(folder, 'report.ndjson');
    const args = [
      ...['run', document, '--checks', 'all', '--workers', '1', '--generation-deterministic', '--no-shrink'],
      ...['--continue-on-failure', '--suppress-health-check', 'all', '--request-timeout', '120', '--no-color'],
      ...['--phases', phases.join(','), '--max-examples', String(examples), '--output-sanitize', 'false'],
      ...['--report-ndjson-path', report, ...excluded.flatMap((id) => ['--exclude-operation-id', id])],
    ];
    const env = { ...process.env, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: HERE, PYTHONDONTWRITEBYTECODE: '1' };
    const { code, output } = await ended(program, args, { cwd: folder, env, timeout: patience });
    // 1 says that there are findings.
    if (code !== 0 && code !== 1) throw new Error(`Schemathesis ended with ${code}:\n${output}`);
    return resultOf(await readFile(report, 'utf8'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function ended(program: string, args: readonly string[], options: object): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { ...options, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: `${stdout}${stderr}`.slice(-4_000) }),
    );
  });
}

interface Recorder {
  readonly label: string;
  readonly cases?: Readonly<Record<string, { readonly is_transition_applied: boolean; readonly value: Case }>>;
  readonly checks?: Readonly<Record<string, readonly { readonly name: string; readonly status: string }[]>>;
  readonly interactions?: Readonly<
    Record<string, { readonly request?: { readonly uri?: string }; readonly response: Answer | null }>
  >;
}

interface Case {
  readonly method: string;
  readonly path: string;
}

interface Answer {
  readonly status_code: number;
  readonly content?: { readonly $base64?: string } | string | null;
}

interface Line {
  readonly ScenarioFinished?: { readonly recorder: Recorder };
  readonly NonFatalError?: {
    readonly label: string;
    readonly value: { readonly type: string; readonly message: string };
  };
}

function resultOf(report: string): SchemathesisResult {
  const findings: Finding[] = [];
  const operations = new Set<string>();
  let cases = 0;
  let followed = 0;
  for (const line of report.split('\n').filter((text) => text !== '')) {
    const { ScenarioFinished: scenario, NonFatalError: error } = JSON.parse(line) as Line;
    if (error !== undefined) {
      findings.push({
        check: error.value.type,
        operation: error.label,
        status: 0,
        code: '',
        detail: error.value.message,
      });
    }
    if (scenario === undefined) continue;
    const { recorder } = scenario;
    findings.push(...findingsOf(recorder));
    for (const { value, is_transition_applied: isFollowed } of Object.values(recorder.cases ?? {})) {
      operations.add(`${value.method} ${value.path}`);
      cases += 1;
      if (isFollowed) followed += 1;
    }
  }
  return { findings, cases, operations, followed };
}

function findingsOf({ cases = {}, checks = {}, interactions = {} }: Recorder): Finding[] {
  return Object.entries(checks).flatMap(([id, ofCase]) => {
    const failed = ofCase.filter(({ status }) => status !== 'success');
    const { method = '', path = '' } = cases[id]?.value ?? {};
    const { request, response: answer } = interactions[id] ?? {};
    const text = textOf(answer?.content);
    return failed.map(({ name }) => ({
      check: name,
      operation: `${method} ${path}`,
      status: answer?.status_code ?? 0,
      code: codeOf(text),
      detail: `${request?.uri ?? ''} ${text.slice(0, 300)}`,
    }));
  });
}

function textOf(content: Answer['content']): string {
  if (typeof content === 'string') return content;
  return Buffer.from(content?.$base64 ?? '', 'base64').toString();
}

function codeOf(text: string): string {
  try {
    const { code } = Object(JSON.parse(text)) as { code?: unknown };
    return typeof code === 'string' ? code : '';
  } catch {
    return '';
  }
}
