/** Parts of an OpenAPI document that the page reads. Integers in it are exact (`src/lib/json.ts`). */

export interface Schema {
  readonly $ref?: string;
  readonly [word: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Referred<{ readonly summary?: string; readonly value: unknown }>>>;
}

export interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly links?: Readonly<Record<string, { readonly operationId: string; readonly description?: string }>>;
}

type Referred<T> = T | { readonly $ref: string };

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Referred<Response>>>;
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** An operation with its place. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export interface Section {
  readonly name: string;
  readonly description: string;
  readonly routes: readonly Route[];
}

/** The operations by their tags, in the order of the document. */
export function sectionsOf({ tags, paths }: OpenApi): readonly Section[] {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const described = new Map(tags.map(({ name, description }) => [name, description ?? '']));
  const names = new Set([...described.keys(), ...routes.flatMap(({ operation }) => operation.tags.slice(0, 1))]);
  return [...names].map((name) => ({
    name,
    description: described.get(name) ?? '',
    routes: routes.filter(({ operation }) => operation.tags[0] === name),
  }));
}

/** Target of a reference in this document; anything else is itself. */
export function resolved<T>(document: OpenApi, value: Referred<T>): T {
  const reference = (value as { readonly $ref?: unknown }).$ref;
  if (typeof reference !== 'string') return value as T;
  const [, kind = '', name = ''] = /^#\/components\/([^/]+)\/(.+)$/.exec(reference) ?? [];
  return document.components[kind]?.[name] as T;
}

/** The name of a schema that is described once for all. */
export function nameOf({ $ref }: Schema): string | undefined {
  return $ref?.split('/').at(-1);
}

/** The first example of a parameter, or of the entries of its list. */
export function exampleOf({ schema }: Parameter): string {
  const own = (schema.examples as readonly unknown[] | undefined)?.[0];
  const items = schema.items as Schema | undefined;
  const example = own ?? (items?.examples as readonly unknown[] | undefined)?.[0];
  return example === undefined ? '' : String(example);
}

/** An example of the body. */
export function bodyExampleOf({ requestBody }: Operation): unknown {
  return Object.values(requestBody?.content ?? {})[0]?.example;
}

/** Need for an API key: always, in some uses or where the node says so, or never. */
export function keyOf({ security = [] }: Operation): 'needed' | 'optional' | 'none' {
  if (security.length === 0) return 'none';
  return security.some((requirement) => Object.keys(requirement).length === 0) ? 'optional' : 'needed';
}
