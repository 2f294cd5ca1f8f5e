/** Renders a JSON schema: its type, its limits, and tables of its properties. */
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
  if (alternatives)
    return html`${alternatives.map((alternative, index) => html`${index > 0 ? ' or ' : ''}${typeOf(alternative)}`)}`;
  if (items) return html`array of ${typeOf(items)}`;
  const typeName = typeof type === 'string' ? type : (type ?? ['any']).join(' | ');
  return html`${typeName}${format ? ` (${format})` : ''}`;
}

function limitsOf(schema: Schema): readonly string[] {
  const range = (unit: string, min: number | undefined, max: number | undefined): readonly string[] => {
    if (min === undefined && max === undefined) return [];
    if (min === undefined) return [`at most ${max}${unit}`];
    return max === undefined ? [`at least ${min}${unit}`] : [`${min} to ${max}${unit}`];
  };
  return [
    ...range('', schema.minimum, schema.maximum),
    ...range(' characters', schema.minLength, schema.maxLength),
    ...range(' items', schema.minItems, schema.maxItems),
    ...(schema.pattern === undefined ? [] : [`pattern ${schema.pattern}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
}

/** Returns the type and the limits in one line. */
export function shortSchema(schema: Schema): Markup {
  const limits = limitsOf(schema.items ?? schema);
  return html`<span class="type">${typeOf(schema)}</span>${limits.length > 0 ? html`<span class="limits">, ${limits.join(', ')}</span>` : null}`;
}

function propertiesOf(schema: Schema): readonly (readonly [string, Schema, boolean])[] {
  const required = new Set(schema.required ?? []);
  const declaredProperties = Object.entries(schema.properties ?? {}).map(
    ([name, property]) => [name, property, required.has(name)] as const,
  );
  const patternProperties = Object.values(schema.patternProperties ?? {}).map(
    (property) => ['(any name)', property, false] as const,
  );
  const additionalProperties =
    typeof schema.additionalProperties === 'object' ? [['(any name)', schema.additionalProperties, false] as const] : [];
  return [...declaredProperties, ...patternProperties, ...additionalProperties];
}

/** Returns the schemas whose properties are shown below a schema: itself, its items and its alternatives. */
function partsOf(schema: Schema): readonly Schema[] {
  if (schema.$ref) return [];
  const inner = [...(alternativesOf(schema) ?? []), ...(schema.allOf ?? []), ...(schema.items ? [schema.items] : [])];
  return [...(propertiesOf(schema).length > 0 ? [schema] : []), ...inner.flatMap(partsOf)];
}

/** Returns tables of the properties of a schema, or null if it has none. */
export function schemaTables(schema: Schema, depth = 0): Markup | null {
  const parts = depth > MAX_DEPTH ? [] : partsOf(schema);
  if (parts.length === 0) return null;
  return html`${parts.map(
    (part) =>
      html`<table class="properties"><tbody>${propertiesOf(part).map(
        ([
          name,
          property,
          required,
        ]) => html`<tr><th scope="row"><code>${name}</code>${required ? html` <em>required</em>` : null}</th>
<td>${shortSchema(property)}${property.description ? html`<p>${prose(property.description)}</p>` : null}${schemaTables(property, depth + 1)}</td></tr>
`,
      )}</tbody></table>`,
  )}`;
}
