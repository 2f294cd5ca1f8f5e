/** A JSON schema as a reader sees it: its type, its limits, and a table of its properties. */
import type { Schema } from './document.js';
import { html, type Markup, prose } from './html.js';

/** Deeper properties are shown as JSON types only. */
const MAX_DEPTH = 6;

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

export const schemaAnchor = (name: string): string => `schema-${name}`;

const alternativesOf = ({ anyOf, oneOf }: Schema): readonly Schema[] | undefined => anyOf ?? oneOf;

function typeOf(schema: Schema): Markup {
  const { $ref, type, format, items } = schema;
  if ($ref) return html`<a href="#${schemaAnchor(nameOf($ref))}">${nameOf($ref)}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum)
    return html`${schema.enum.map((value, index) => html`${index > 0 ? ' | ' : ''}<code>${JSON.stringify(value)}</code>`)}`;
  const alternatives = alternativesOf(schema);
  if (alternatives) return html`${alternatives.map((each, index) => html`${index > 0 ? ' or ' : ''}${typeOf(each)}`)}`;
  if (items) return html`array of ${typeOf(items)}`;
  const named = typeof type === 'string' ? type : (type ?? ['any']).join(' | ');
  return html`${named}${format ? ` (${format})` : ''}`;
}

function limitsOf(schema: Schema): readonly string[] {
  const range = (what: string, min: number | undefined, max: number | undefined): readonly string[] => {
    if (min === undefined && max === undefined) return [];
    if (min === undefined) return [`at most ${max}${what}`];
    return max === undefined ? [`at least ${min}${what}`] : [`${min} to ${max}${what}`];
  };
  return [
    ...range('', schema.minimum, schema.maximum),
    ...range(' characters', schema.minLength, schema.maxLength),
    ...range(' items', schema.minItems, schema.maxItems),
    ...(schema.pattern === undefined ? [] : [`pattern ${schema.pattern}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
}

/** Type and limits in one line. */
export function shortSchema(schema: Schema): Markup {
  const limits = limitsOf(schema.items ?? schema);
  return html`<span class="type">${typeOf(schema)}</span>${limits.length > 0 ? html`<span class="limits">, ${limits.join(', ')}</span>` : null}`;
}

function propertiesOf(schema: Schema): readonly (readonly [string, Schema, boolean])[] {
  const required = new Set(schema.required ?? []);
  const own = Object.entries(schema.properties ?? {}).map(([name, each]) => [name, each, required.has(name)] as const);
  const others = Object.values(schema.patternProperties ?? {}).map((each) => ['(any name)', each, false] as const);
  const more =
    typeof schema.additionalProperties === 'object' ? [['(any name)', schema.additionalProperties, false] as const] : [];
  return [...own, ...others, ...more];
}

/** The schemas whose properties are shown below a schema of this type: its own, those of its items, those of its variants. */
function partsOf(schema: Schema): readonly Schema[] {
  if (schema.$ref) return [];
  const inner = [...(alternativesOf(schema) ?? []), ...(schema.allOf ?? []), ...(schema.items ? [schema.items] : [])];
  return [...(propertiesOf(schema).length > 0 ? [schema] : []), ...inner.flatMap(partsOf)];
}

/** Tables of the properties of a schema; null when it has none. */
export function schemaTables(schema: Schema, depth = 0): Markup | null {
  const parts = depth > MAX_DEPTH ? [] : partsOf(schema);
  if (parts.length === 0) return null;
  return html`${parts.map(
    (part) =>
      html`<table class="properties"><tbody>${propertiesOf(part).map(
        ([
          name,
          each,
          required,
        ]) => html`<tr><th scope="row"><code>${name}</code>${required ? html` <em>required</em>` : null}</th>
<td>${shortSchema(each)}${each.description ? html`<p>${prose(each.description)}</p>` : null}${schemaTables(each, depth + 1)}</td></tr>
`,
      )}</tbody></table>`,
  )}`;
}
