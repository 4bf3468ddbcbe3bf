/**
 * The packages whose code comes with a release: those that the package depends on, with what they depend on, and those that are
 * copied into the program and its pages (docs/adr/0049-one-program-in-few-files.md). npm takes the copied ones for tools of the developers.
 */

/** `## NAME - VERSION (LICENSE)` in the notices that the build writes. */
const COPIED = /^## (\S+) - (\d\S*) \(/gm;

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string }[];
}

/** What is read of `npm sbom --sbom-format cyclonedx`. References are `NAME@VERSION`. */
export interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** What is read of `npm audit --json`, by name. */
export interface Audit {
  readonly vulnerabilities: Readonly<
    Record<string, { readonly severity: string; readonly range: string; readonly nodes: readonly string[] }>
  >;
}

/** What is read of package-lock.json: place → version. */
export interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** `NAME@VERSION` of all of them; `notices` are those of the program and of its pages. */
export function shippedPackages(bill: Bill, manifest: Manifest, notices: readonly string[]): ReadonlySet<string> {
  const graph = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const direct = new Set(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }));
  const shipped = new Set<string>();
  const add = (ref: string): void => {
    if (shipped.has(ref)) return;
    shipped.add(ref);
    for (const other of graph.get(ref) ?? []) add(other);
  };
  for (const ref of graph.get(`${manifest.name}@${manifest.version}`) ?? []) {
    if (direct.has(ref.slice(0, ref.lastIndexOf('@')))) add(ref);
  }
  for (const text of notices) {
    for (const [, name, version] of text.matchAll(COPIED)) shipped.add(`${name}@${version}`);
  }
  return shipped;
}

/** The bill with them alone, none of which is a tool. Throws for one that npm does not know. */
export function billOf<B extends Bill>(bill: B, { name, version }: Manifest, shipped: ReadonlySet<string>): B {
  const known = new Set(bill.components.map((component) => component['bom-ref']));
  const unknown = [...shipped].filter((ref) => !known.has(ref));
  if (unknown.length > 0) throw new Error(`npm knows nothing of ${unknown.join(', ')}`);
  const root = `${name}@${version}`;
  const components = bill.components
    .filter((component) => shipped.has(component['bom-ref']))
    .map(({ properties = [], ...component }) => ({
      ...component,
      properties: properties.filter((one) => one.name !== 'cdx:npm:package:development'),
    }));
  const dependencies = bill.dependencies
    .filter(({ ref }) => ref === root || shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => shipped.has(other)) }));
  return { ...bill, components, dependencies };
}

/** A line for each of them in which a hole is known. */
export function holesIn(
  vulnerabilities: Audit['vulnerabilities'],
  { packages }: Lock,
  shipped: ReadonlySet<string>,
): string[] {
  return Object.entries(vulnerabilities).flatMap(([name, { severity, range, nodes }]) => {
    const versions = new Set(nodes.map((place) => packages[place]?.version ?? ''));
    return [...versions]
      .filter((version) => shipped.has(`${name}@${version}`))
      .map((version) => `${name} ${version}: ${severity}, in ${range}`);
  });
}
