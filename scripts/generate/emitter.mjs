/**
 * Writes TypeScript types for JSON schemas. A named schema is written once, regardless of where it is used. Two schemas are the
 * same if only their descriptions differ.
 */

/** Maximum line length, the same as that of Biome. */
export const MAX_LINE = 130;

/** @typedef {Readonly<Record<string, object>>} Types schemas by the name of their type, such as `Run` or `Run<Result = unknown>` */

const idOf = ({ description, ...schema }) => JSON.stringify(schema);
const nameOf = (declaration) => declaration.replace(/<.*/, '');
const formatLiteral = (value) => (typeof value === 'string' ? `'${value}'` : String(value));

/** Returns the only alternative to null, or the schema itself if there is none. */
function nonNullSchema(schema) {
  const [alternative, ...otherAlternatives] = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  return alternative && otherAlternatives.length === 0 ? alternative : schema;
}

/** Returns the description of a schema and of its only alternative to null; undefined if there is none. */
function descriptionOf(schema) {
  const descriptions = new Set([nonNullSchema(schema).description, schema.description].filter(Boolean));
  return descriptions.size === 0 ? undefined : [...descriptions].join(' ');
}

/** Returns the limits of numbers and lists as a sentence. */
function limitsOf({ minimum, maximum, maxItems }) {
  const text = (limit) => limit.toLocaleString('en-US');
  if (maxItems !== undefined) return `At most ${text(maxItems)}.`;
  return minimum === undefined || maximum === undefined ? undefined : `${text(minimum)} to ${text(maximum)}.`;
}

/** Returns whether an object has all fields of another one, with the same descriptions. */
function hasFieldsOf({ properties, required = [] }, base) {
  return Object.entries(base.properties).every(
    ([name, field]) =>
      JSON.stringify(properties[name]) === JSON.stringify(field) &&
      required.includes(name) === (base.required ?? []).includes(name),
  );
}

/** Returns a documentation comment, wrapped to the maximum line length. */
function formatComment(text, indent) {
  const textWidth = MAX_LINE - indent.length - 3;
  if (text.length + 7 + indent.length <= MAX_LINE) return `${indent}/** ${text} */\n`;
  const lines = [];
  for (const word of text.split(' ')) {
    const lastLine = lines.at(-1);
    if (lastLine !== undefined && lastLine.length + word.length + 1 <= textWidth) lines[lines.length - 1] = `${lastLine} ${word}`;
    else lines.push(word);
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

/** Writes a union on one line if it fits after `column` characters, and otherwise with one alternative per line. */
function formatUnion(alternatives, column, indent) {
  const text = alternatives.join(' | ');
  if (text.includes('\n') || column + text.length + 1 <= MAX_LINE) return text;
  return alternatives.map((each) => `\n${indent}  | ${each}`).join('');
}

/**
 * @param {Readonly<Record<string, Types>>} files types by the name of their file
 * @param {object} options
 * @param {Readonly<Record<string, { from?: string, schema: object }>>} options.imports types that exist already; a global
 *   type has no `from`
 * @param {readonly string[]} options.bases names of types that others extend if they have all of their fields, largest first
 * @param {(text: string) => string} [options.describe] edits a description
 * @returns {ReadonlyMap<string, string>} text of each file, without its header
 */
export function typesOf(files, { imports, bases, describe = (text) => text }) {
  const typesById = new Map(Object.entries(imports).map(([name, { from, schema }]) => [idOf(schema), { name, from, schema }]));
  for (const [file, types] of Object.entries(files))
    for (const [declaration, schema] of Object.entries(types)) {
      if (!schema) throw new Error(`there is no schema for the type ${declaration}`);
      if (!descriptionOf(schema)) throw new Error(`the schema of the type ${declaration} needs a description`);
      if (!typesById.has(idOf(schema))) typesById.set(idOf(schema), { name: nameOf(declaration), from: `./${file}.js`, schema });
    }

  const write = (file, types) => {
    const usedImports = new Map();
    const formatDescription = (schema, indent) => {
      const description = descriptionOf(schema);
      const sentences = [description && describe(description), limitsOf(nonNullSchema(schema))].filter(Boolean);
      return sentences.length === 0 ? '' : formatComment(sentences.join(' '), indent);
    };
    /** Returns the text of a type. `column` is the number of characters in front of it. */
    const typeOf = (schema, { indent, column, parameter, isTopLevel = false }) => {
      const namedType = isTopLevel ? undefined : typesById.get(idOf(schema));
      if (namedType) {
        if (namedType.from) usedImports.set(namedType.name, namedType.from);
        return namedType.name;
      }
      const innerTypeOf = (each, more = '') => typeOf(each, { indent: indent + more, column, parameter });
      if ('const' in schema) return formatLiteral(schema.const);
      if (schema.enum) return formatUnion(schema.enum.map(formatLiteral), column, indent);
      if (schema.anyOf)
        return formatUnion(
          schema.anyOf.map((each) => innerTypeOf(each)),
          column,
          indent,
        );
      if (schema.patternProperties) return `Readonly<Record<string, ${innerTypeOf(Object.values(schema.patternProperties)[0])}>>`;
      if (schema.properties) return `{\n${formatFields(schema, `${indent}  `, parameter)}${indent}}`;
      switch (schema.type) {
        case 'array': {
          const itemType = innerTypeOf(schema.items);
          return `readonly ${/ \| |^readonly /.test(itemType) && !itemType.endsWith('}') ? `(${itemType})` : itemType}[]`;
        }
        case 'integer':
          return 'number';
        case 'string': {
          const [, prefix] = /^\^(\w+:)/.exec(schema.pattern ?? '') ?? [];
          return prefix ? `\`${prefix}\${string}\`` : 'string';
        }
        case 'number':
        case 'boolean':
        case 'null':
          return schema.type;
        default:
          return parameter;
      }
    };
    const formatFields = ({ properties, required = [] }, indent, parameter) =>
      Object.entries(properties)
        .map(([name, schema]) => {
          const start = `${indent}readonly ${name}${required.includes(name) ? '' : '?'}:`;
          const type = typeOf(schema, { indent, column: start.length + 1, parameter });
          // A named type has its own description.
          const namedType = typesById.get(idOf(nonNullSchema(schema)));
          const repeatsDescription = namedType && namedType.schema.description === descriptionOf(schema);
          return `${repeatsDescription ? '' : formatDescription(schema, indent)}${start}${type.startsWith('\n') ? '' : ' '}${type};\n`;
        })
        .join('');
    /** Splits the fields of an object into its own fields and the fields of types that it extends. */
    const splitFields = (schema, ownName) => {
      const baseNames = [];
      let { properties } = schema;
      for (const name of bases) {
        const base = [...typesById.values()].find((each) => each.name === name);
        if (name === ownName || !hasFieldsOf({ ...schema, properties }, base.schema)) continue;
        baseNames.push(name);
        usedImports.set(name, base.from);
        properties = Object.fromEntries(Object.entries(properties).filter(([field]) => !(field in base.schema.properties)));
      }
      return { ownSchema: { ...schema, properties }, baseNames };
    };
    const declarations = Object.entries(types).map(([declaration, schema]) => {
      const parameter = declaration.match(/<(\w+)/)?.[1] ?? 'unknown';
      if (schema.properties) {
        const { ownSchema, baseNames } = splitFields(schema, nameOf(declaration));
        const start = `export interface ${declaration}${baseNames.length > 0 ? ` extends ${baseNames.join(', ')}` : ''}`;
        return `${formatDescription(schema, '')}${start} {\n${formatFields(ownSchema, '  ', parameter)}}\n`;
      }
      const start = `export type ${declaration} =`;
      const type = typeOf(schema, { indent: '', column: start.length + 1, parameter, isTopLevel: true });
      return `${formatDescription(schema, '')}${start}${type.startsWith('\n') ? '' : ' '}${type};\n`;
    });
    const sources = [...new Set(usedImports.values())].filter((from) => from !== `./${file}.js`).toSorted();
    const importsOf = (from) => [...usedImports.keys()].filter((name) => usedImports.get(name) === from).toSorted();
    const lines = sources.map((from) => `import type { ${importsOf(from).join(', ')} } from '${from}';\n`);
    return [lines.join(''), ...declarations].filter((part) => part !== '').join('\n');
  };
  return new Map(Object.entries(files).map(([file, types]) => [file, write(file, types)]));
}
