/** Plain JSON of a document or a part of it. */

export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
