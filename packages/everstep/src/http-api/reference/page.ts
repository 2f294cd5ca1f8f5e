/** The API reference as one static HTML page without scripts, generated from an OpenAPI document. */
import type { DescribedOperation, OpenApiDocument, Parameter } from './document.js';
import { html, type Markup, prose } from './html.js';
import { schemaAnchor, schemaTables, shortSchema } from './schema.js';

export interface ReferenceLink {
  readonly label: string;
  readonly path: string;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: DescribedOperation;
}

const PARAMETER_SECTIONS: readonly (readonly [string, string])[] = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['header', 'Headers'],
];

const tagAnchor = (tag: string): string => `tag-${tag.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

function routesByTag(document: OpenApiDocument): ReadonlyMap<string, readonly Route[]> {
  const byTag = new Map<string, Route[]>(document.tags.map(({ name }) => [name, []]));
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item))
      byTag.get(operation.tags[0] ?? '')?.push({ method: method.toUpperCase(), path, operation });
  return byTag;
}

function parameterTable(title: string, parameters: readonly Parameter[]): Markup | null {
  if (parameters.length === 0) return null;
  return html`<h4>${title}</h4>
<table class="properties"><tbody>${parameters.map(
    ({
      name,
      required,
      description,
      schema,
    }) => html`<tr><th scope="row"><code>${name}</code>${required ? html` <em>required</em>` : null}</th>
<td>${schema ? shortSchema(schema) : null}${description ? html`<p>${prose(description)}</p>` : null}</td></tr>
`,
  )}</tbody></table>`;
}

function bodySchemas(content: DescribedOperation['responses'][string]['content']): Markup | null {
  if (!content) return null;
  return html`${Object.entries(content).map(
    ([mediaType, { schema }]) =>
      html`<p class="media"><code>${mediaType}</code>${schema ? html` ${shortSchema(schema)}` : null}</p>${schema ? schemaTables(schema) : null}`,
  )}`;
}

function authentication(document: OpenApiDocument, operation: DescribedOperation): Markup {
  const security = operation.security ?? document.security ?? [];
  if (security.length === 0) return html`<p class="auth">No authentication.</p>`;
  const schemes = security
    .flatMap((requirement) => Object.keys(requirement))
    .map((name) => {
      const scheme = document.components.securitySchemes[name];
      if (!scheme) return name;
      return scheme.type === 'http' ? `HTTP ${scheme.scheme}` : `${scheme.in} parameter ${scheme.name}`;
    });
  return html`<p class="auth">Authentication: ${[...new Set(schemes)].join(' or ')}.</p>`;
}

function operationSection(document: OpenApiDocument, { method, path, operation }: Route): Markup {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return html`<section class="operation" id="${operationId}">
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="route"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
${description ? html`<p>${prose(description)}</p>` : null}
${authentication(document, operation)}
${PARAMETER_SECTIONS.map(([location, title]) =>
  parameterTable(
    title,
    parameters.filter((parameter) => parameter.in === location),
  ),
)}
${
  requestBody
    ? html`<h4>Request body${requestBody.required ? html` <em>required</em>` : null}</h4>
${requestBody.description ? html`<p>${prose(requestBody.description)}</p>` : null}${bodySchemas(requestBody.content)}`
    : null
}
<h4>Responses</h4>
${Object.entries(responses).map(
  ([
    status,
    { description: responseDescription, content },
  ]) => html`<details><summary><code>${status}</code> ${prose(responseDescription)}</summary>${bodySchemas(content)}</details>
`,
)}</section>
`;
}

function navigation(tags: ReadonlyMap<string, readonly Route[]>): Markup {
  return html`<nav aria-label="Operations">${[...tags].map(
    ([tag, routes]) =>
      html`<details><summary>${tag}</summary><ul>${routes.map(
        ({ method, operation }) =>
          html`<li><a href="#${operation.operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${operation.summary}</a></li>
`,
      )}</ul></details>`,
  )}<p><a href="#schemas">Schemas</a></p></nav>`;
}

export interface ReferencePageOptions {
  readonly document: OpenApiDocument;
  /** Path of the document as JSON. */
  readonly documentPath: string;
  /** Path of the style sheet. */
  readonly stylesPath: string;
  /** Links to all references of this server. */
  readonly links: readonly ReferenceLink[];
  /** Path of this page. */
  readonly path: string;
}

export function referencePage({ document, documentPath, stylesPath, links, path }: ReferencePageOptions): string {
  const { info, components } = document;
  const tags = routesByTag(document);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<link rel="stylesheet" href="${stylesPath}">
</head>
<body>
<header><p><a href="/">Everstep</a></p>
<ul>${links.map((link) => html`<li><a href="${link.path}"${link.path === path ? html` aria-current="page"` : null}>${link.label}</a></li>`)}</ul></header>
<div class="columns">
${navigation(tags)}
<main>
<h1>${info.title}</h1>
${info.description ? html`<p>${prose(info.description)}</p>` : null}
<p>Version ${info.version}. This reference is generated from the <a href="${documentPath}">OpenAPI document</a>.</p>
${[...tags].map(
  ([tag, routes]) => html`<h2 id="${tagAnchor(tag)}">${tag}</h2>
${routes.map((route) => operationSection(document, route))}`,
)}
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(
  ([
    name,
    schema,
  ]) => html`<section class="operation" id="${schemaAnchor(name)}"><h3><a href="#${schemaAnchor(name)}">${name}</a></h3>
${schema.description ? html`<p>${prose(schema.description)}</p>` : null}<p>${shortSchema(schema)}</p>${schemaTables(schema)}</section>
`,
)}
</main>
</div>
</body>
</html>
`.text;
}
