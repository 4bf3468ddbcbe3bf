/**
 * The card of an item whose metadata is a JSON object with `name`, `description`, `image` or `attributes`, as most makers of items write
 * them. All of it is text of strangers. An image is shown only if it is in the metadata or of this node: looking asks nobody else.
 */

import { BESIDE } from './hash.js';
import { SafeLine, SafeText } from './safe-text.js';

export interface Card {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly image: string | undefined;
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

/** Images of pixels only: 1,200 characters of SVG by a stranger held a browser up for more than 15 seconds. */
const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/;

/** Undefined for any other text. */
export function cardOf(metadata: string | null): Card | undefined {
  const { name, description, image, attributes } = membersOf(parsed(metadata ?? ''));
  const card = { name: textOf(name), description: textOf(description), image: textOf(image) };
  const listed = Array.isArray(attributes)
    ? attributes.map((one) => membersOf(one)).map((one) => [one.trait_type ?? one.name, one.value])
    : Object.entries(membersOf(attributes));
  const shown = listed.flatMap(([key, value]) => {
    const [label, text] = [textOf(key), textOf(value)];
    return label === undefined || text === undefined ? [] : [[label, text] as const];
  });
  const isCard = shown.length > 0 || Object.values(card).some((text) => text !== undefined);
  return isCard ? { ...card, attributes: shown } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function ItemCard({ card: { name, description, image, attributes } }: { readonly card: Card }) {
  return (
    <div class="item-card">
      {image !== undefined && <Image source={image} />}
      {name !== undefined && (
        <p class="item-name">
          <SafeLine text={name} />
        </p>
      )}
      {description !== undefined && (
        <p>
          <SafeLine text={description} limit={600} />
        </p>
      )}
      {attributes.length > 0 && (
        <dl class="item-attributes">
          {attributes.map(([label, value]) => (
            <div>
              <dt>
                <SafeLine text={label} limit={40} />
              </dt>
              <dd>
                <SafeLine text={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

/** The card beside the text that it was read from, or the text alone. */
export function Metadata({ text }: { readonly text: string }) {
  const card = cardOf(text);
  if (card === undefined) return <SafeText text={text} />;
  return (
    <>
      <ItemCard card={card} />
      <details>
        <summary>Raw text</summary>
        <SafeText text={text} />
      </details>
    </>
  );
}

function Image({ source }: { readonly source: string }) {
  const url = urlOf(source);
  if (IMAGE_DATA.test(source) || url?.origin === location.origin) {
    return <img class="item-image" src={source} alt="" loading="lazy" decoding="async" />;
  }
  if (url?.protocol !== 'https:') return null;
  return (
    <a href={url.href} {...BESIDE}>
      Open the image at {url.host}
    </a>
  );
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text, location.href);
  } catch {
    return undefined;
  }
}
