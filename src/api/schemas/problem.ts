/** The problem document of RFC 9457: every error of the /v1 family has this body. */

import { type Static, Type } from '@sinclair/typebox';
import { Int32, Nullable, named } from './scalars.js';

export const ApiProblem = named('ApiProblem', 'An error of a /v1 route (RFC 9457).').object(
  {
    type: Type.String({ description: 'URI of the problem type; about:blank when none is defined.' }),
    title: Type.String({ description: 'The reason phrase of the status.' }),
    status: Int32({ minimum: 0, description: 'The HTTP status, repeated.' }),
    detail: Type.Optional(
      Nullable(Type.String(), { description: 'What happened in this case and what to do, for people.' }),
    ),
    code: Type.Optional(
      Nullable(Type.String(), { description: 'What happened, for programs: a code of the error catalogue.' }),
    ),
  },
  {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'No block is stored at number 12.',
    code: 'block_not_found',
  },
);
export type ApiProblem = Static<typeof ApiProblem>;
