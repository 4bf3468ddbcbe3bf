/** The generated code of etcd's messages has what etcd.proto has: who changes one makes the other anew. */

import { readFileSync } from 'node:fs';
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { file_etcd } from '../../src/journal/etcd/generated/etcd-pb.js';

const PROTO = readFileSync(new URL('../../src/journal/etcd/etcd.proto', import.meta.url), 'utf8');

/** What is between the braces of each `KIND NAME { … }` at the beginning of a line, by name. */
function blocks(kind: string): [name: string, body: string][] {
  const found = PROTO.matchAll(new RegExp(`^${kind} (\\w+) \\{(.*?)^\\}`, 'gms'));
  return [...found].map(([, name = '', body = '']) => [name, body]);
}

function lineOf(field: DescField): string {
  const { scalar, message } = field;
  const type = scalar === undefined ? message?.name : ScalarType[scalar].toLowerCase();
  return `${field.fieldKind === 'list' ? 'repeated ' : ''}${type} ${field.name} = ${field.number};`;
}

it('are those of etcd.proto: messages with their fields, and services with their calls', () => {
  const messages = blocks('message').map(([name, body]) => [name, body.match(/(?:repeated )?\w+ \w+ = \d+;/g) ?? []]);
  expect(messages.length).toBeGreaterThan(20);
  expect(file_etcd.messages.map(({ name, fields }) => [name, fields.map(lineOf)])).toEqual(messages);
  const calls = blocks('service').map(([name, body]) => [name, [...body.matchAll(/rpc (\w+)/g)].map(([, one]) => one)]);
  expect(file_etcd.services.map(({ name, methods }) => [name, methods.map((one) => one.name)])).toEqual(calls);
});
