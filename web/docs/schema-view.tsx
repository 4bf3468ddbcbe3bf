/** A schema as a list of members, each with its type and meaning; what has a name opens where it is used. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { nameOf, type OpenApi, resolved, type Schema } from './open-api.js';

export interface SchemaViewProps {
  readonly document: OpenApi;
  readonly schema: Schema;
}

export function SchemaView({ document, schema }: SchemaViewProps) {
  const name = nameOf(schema);
  const known = resolved<Schema>(document, schema as Schema);
  if (name === undefined) return <Members document={document} schema={known} />;
  return (
    <Folded title={name}>
      <Members document={document} schema={known} />
    </Folded>
  );
}

/** Folded part, made when it is opened: schemas may refer to themselves. */
function Folded({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="schema" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

function Members({ document, schema }: SchemaViewProps) {
  const { properties, items, additionalProperties, description } = schema;
  const required = (schema.required ?? []) as readonly string[];
  const choices = (schema.anyOf ?? schema.oneOf ?? schema.prefixItems) as readonly Schema[] | undefined;
  return (
    <div class="members">
      {typeof description === 'string' && <p class="about">{description}</p>}
      {properties !== undefined && (
        <dl>
          {Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, member]) => (
            <>
              <dt>
                <code>{name}</code>{' '}
                <span class="about">{`${typeOf(member)}${required.includes(name) ? '' : ', optional'}`}</span>
              </dt>
              <dd>
                <Inner document={document} schema={member} />
              </dd>
            </>
          ))}
        </dl>
      )}
      {choices?.map((one) => (
        <Choice document={document} schema={one} />
      ))}
      {isSchema(items) && <Choice document={document} schema={items} before="Each: " />}
      {isSchema(additionalProperties) && (
        <Choice document={document} schema={additionalProperties} before="By name: " />
      )}
    </div>
  );
}

function Choice({ document, schema, before = '' }: SchemaViewProps & { readonly before?: string }) {
  return (
    <div>
      <span class="about">{`${before}${typeOf(schema)}`}</span>
      <Inner document={document} schema={schema} />
    </div>
  );
}

/** The schema behind a member: by its name, or what there is to say of it here. */
function Inner({ document, schema }: SchemaViewProps) {
  if (nameOf(schema) !== undefined) return <SchemaView document={document} schema={schema} />;
  const hasParts = ['properties', 'items', 'anyOf', 'oneOf', 'prefixItems', 'additionalProperties'].some(
    (word) => isSchema(schema[word]) || Array.isArray(schema[word]),
  );
  if (hasParts) return <Members document={document} schema={schema} />;
  return typeof schema.description === 'string' ? <span>{schema.description}</span> : null;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Type in a few words, with its limits. */
function typeOf(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  const { format, minimum, maximum, minLength, maxLength, pattern } = schema;
  const choices = (schema.enum ?? (schema.const === undefined ? undefined : [schema.const])) as
    | readonly unknown[]
    | undefined;
  const words = [
    choices === undefined ? [schema.type ?? 'any of'].flat().join(' or ') : choices.join(' | '),
    format,
    minimum === undefined ? undefined : `from ${minimum}`,
    maximum === undefined ? undefined : `to ${maximum}`,
    minLength === undefined ? undefined : `at least ${minLength} long`,
    maxLength === undefined ? undefined : `at most ${maxLength} long`,
    pattern,
  ];
  return words.filter((word) => word !== undefined).join(', ');
}
