/** Generates all bodies with one invalid field from a schema and a valid body. */

/** Schema of an OpenAPI document, as far as request bodies use it. */
export interface BodySchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly BodySchema[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly patternProperties?: unknown;
  readonly items?: BodySchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface BadBody {
  /** JSON, or text that resembles JSON. */
  readonly text: string;
  /** Name of the field, which the error must contain. */
  readonly named: string;
}

type Path = readonly (string | number)[];
type Types = ReadonlySet<string>;

const SAMPLES: readonly unknown[] = [null, true, false, 'surprise', '', 7, -1.5, [], [7], {}, { surprise: 1 }];
/** Texts that resemble numbers but are not JSON. */
const NO_NUMBERS = ['NaN', 'Infinity', '-Infinity', 'undefined', '0x10', '.5', '5.', '+5', '05'];
const TEXTS = ['', ' ', '\n', 'a\u0000b', 'a\nb', 'a\u007fb', 'surprise'];
const STRANGE_NAMES = ['surprise', '__proto__', 'constructor', 'toString', ''];
/** Longer texts would be slow to send and are tested elsewhere. */
const MAX_ITEMS = 2_000;

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
};

/** Stands for JSON text that no JavaScript value has. */
class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function write(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`)
    .join()}}`;
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/** An invalid value at the end of the path. */
interface Wrong {
  readonly path: Path;
  readonly value: unknown;
  /** Set if it is not the last name of the path. */
  readonly named?: string | undefined;
}

const nameIn = (path: Path): string | undefined => path.findLast((step) => typeof step === 'string');

/** Returns the value with another one at the end of the path; undefined removes the existing one. */
function put(value: unknown, [step, ...rest]: Path, given: unknown): unknown {
  if (step === undefined) return given;
  if (Array.isArray(value)) return value.map((each, index) => (index === step ? put(each, rest, given) : each));
  const fields = new Map(entriesOf(value));
  const put_ = put(fields.get(String(step)), rest, given);
  if (put_ === undefined) fields.delete(String(step));
  else fields.set(String(step), put_);
  return Object.fromEntries(fields);
}

export class BadBodies {
  private readonly schemas: Readonly<Record<string, BodySchema>>;

  /** `schemas` contains the named schemas of the document. */
  constructor(schemas: Readonly<Record<string, BodySchema>>) {
    this.schemas = schemas;
  }

  /** Yields bodies that must be rejected. `right` may omit optional fields. */
  *of(schema: BodySchema, right: unknown): Generator<BadBody> {
    for (const { path, value, named } of this.wrong(schema, right, []))
      yield { text: write(put(right, path, value)), named: named ?? nameIn(path) ?? 'body' };
    for (const [path, value] of this.objectsIn(right, [])) {
      for (const [name, given] of entriesOf(value)) {
        const twice = `${write(value).slice(0, -1)},${JSON.stringify(name)}:${write(given)}}`;
        yield { text: write(put(right, path, new Raw(twice))), named: `${name} is given twice` };
      }
    }
  }

  /** Returns a valid value. */
  sample(given: BodySchema): unknown {
    const schema = this.resolved(given);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return schema.enum[0];
    if (schema.anyOf?.[0]) return this.sample(schema.anyOf[0]);
    switch (schema.type) {
      case 'string':
        return 'x'.repeat(Math.max(1, schema.minLength ?? 0));
      case 'integer':
      case 'number':
        return schema.minimum ?? 0;
      case 'boolean':
        return true;
      case 'null':
        return null;
      case 'array':
        return schema.items && schema.maxItems !== 0 ? [this.sample(schema.items)] : [];
      default: {
        const needed = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
        return Object.fromEntries(needed.map(([name, property]) => [name, this.sample(property)]));
      }
    }
  }

  private resolved(schema: BodySchema): BodySchema {
    const name = schema.$ref?.split('/').at(-1);
    if (name === undefined) return schema;
    const found = this.schemas[name];
    if (!found) throw new Error(`the document has no schema ${name}`);
    return found;
  }

  private branches(given: BodySchema): readonly BodySchema[] {
    const schema = this.resolved(given);
    return schema.anyOf ? schema.anyOf.flatMap((branch) => this.branches(branch)) : [schema];
  }

  /** Returns the types that the branches accept. Null for any type. */
  private typesOf(branches: readonly BodySchema[]): Types | null {
    const types = new Set<string>();
    for (const { type, enum: values, const: only, properties } of branches) {
      if (type === undefined && !values && only === undefined && !properties) return null;
      if (type === 'integer') types.add('number');
      else if (type !== undefined) types.add(type);
      else for (const value of values ?? [only]) types.add(typeOf(value));
    }
    return types;
  }

  private *wrong(schema: BodySchema, right: unknown, path: Path): Generator<Wrong> {
    const branches = this.branches(schema);
    const types = this.typesOf(branches);
    if (!types) return;
    for (const value of SAMPLES) if (!types.has(typeOf(value))) yield { path, value };
    for (const word of NO_NUMBERS) yield { path, value: new Raw(word) };
    if (types.has('number')) yield { path, value: new Raw('1e999') };
    const only = (type: string) => branches.filter((branch) => this.typesOf([branch])?.has(type));
    const texts = only('string');
    for (const text of this.wrongTexts(texts)) yield { path, value: text };
    for (const number of this.wrongNumbers(only('number'))) yield { path, value: number };
    for (const branch of branches) {
      if (branch.type === 'array') yield* this.wrongArrays(branch, right, path);
      if (branch.properties) yield* this.wrongObjects(branch, right, path);
    }
  }

  private wrongTexts(branches: readonly BodySchema[]): readonly string[] {
    const [branch] = branches;
    if (!branch || branches.length > 1) return [];
    const { minLength = 0, maxLength, pattern, enum: values, const: only } = branch;
    const allowed = values ?? (only === undefined ? null : [only]);
    const isWrong = (text: string): boolean =>
      allowed
        ? !allowed.includes(text)
        : text.length < minLength ||
          text.length > (maxLength ?? Infinity) ||
          (pattern !== undefined && !new RegExp(pattern).test(text));
    const cases = (allowed ?? []).flatMap((value) => [`${value} `, String(value).toUpperCase(), `${value},${value}`]);
    const tooLong = maxLength === undefined ? [] : ['x'.repeat(maxLength + 1), 'x'.repeat(maxLength * 10)];
    return [...TEXTS, ...cases, ...tooLong].filter(isWrong);
  }

  private wrongNumbers(branches: readonly BodySchema[]): readonly number[] {
    const [branch] = branches;
    if (!branch || branches.length > 1) return [];
    const { type, minimum, maximum } = branch;
    const isWhole = type === 'integer';
    const step = isWhole ? 1 : 0.001;
    return [
      ...(isWhole ? [Math.max(minimum ?? 0, 0) + 0.5, 1e-7] : []),
      ...(minimum === undefined ? [] : [minimum - step, -1e308]),
      ...(maximum === undefined ? [] : [maximum + (Number.isSafeInteger(maximum + step) || !isWhole ? step : 2), 1e308]),
    ];
  }

  private *wrongArrays(schema: BodySchema, right: unknown, path: Path): Generator<Wrong> {
    const { items = {}, minItems = 0, maxItems } = schema;
    const given: readonly unknown[] = Array.isArray(right) && right.length > 0 ? right : [this.sample(items)];
    if (minItems > 0) yield { path, value: [] };
    if (maxItems !== undefined && maxItems < MAX_ITEMS)
      yield { path, value: Array.from({ length: maxItems + 1 }, (_, index) => given[index % given.length]) };
    if (maxItems === 0) return;
    // The invalid one is last, after a valid one.
    for (const { path: inner, value, named } of this.wrong(items, given[0], []))
      yield { path, value: [given[0], put(given[0], inner, value)], named: named ?? nameIn(inner) };
  }

  private *wrongObjects(schema: BodySchema, right: unknown, path: Path): Generator<Wrong> {
    const { properties = {}, required = [], additionalProperties } = schema;
    const given = typeOf(right) === 'object' ? right : this.sample(schema);
    for (const name of required) yield { path: [...path, name], value: undefined };
    if (additionalProperties === false) {
      const others = Object.keys(properties).map((name) =>
        name.toUpperCase() === name ? name.toLowerCase() : name.toUpperCase(),
      );
      for (const name of [...STRANGE_NAMES, ...others]) {
        const extended = Object.fromEntries([...entriesOf(given), [name, 1]]);
        yield { path, value: extended, named: `an unknown field: ${JSON.stringify(name)}` };
      }
    }
    const fields = new Map(entriesOf(given));
    for (const [name, property] of Object.entries(properties)) {
      const present = fields.get(name) ?? this.sample(property);
      for (const { path: inner, value, named } of this.wrong(property, present, []))
        yield { path: [...path, name], value: put(present, inner, value), named: named ?? nameIn(inner) };
    }
  }

  private *objectsIn(value: unknown, path: Path): Generator<readonly [Path, unknown]> {
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) yield* this.objectsIn(each, [...path, index]);
    } else if (typeOf(value) === 'object') {
      yield [path, value];
      for (const [name, each] of entriesOf(value)) yield* this.objectsIn(each, [...path, name]);
    }
  }
}
