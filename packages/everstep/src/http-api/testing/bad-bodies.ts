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
  /** Text that the error must contain, usually the name of the field. */
  readonly errorText: string;
}

type Path = readonly (string | number)[];
type Types = ReadonlySet<string>;

const SAMPLES: readonly unknown[] = [null, true, false, 'surprise', '', 7, -1.5, [], [7], {}, { surprise: 1 }];
/** Texts that resemble numbers but are not JSON. */
const NOT_NUMBERS = ['NaN', 'Infinity', '-Infinity', 'undefined', '0x10', '.5', '5.', '+5', '05'];
const TEXTS = ['', ' ', '\n', 'a\u0000b', 'a\nb', 'a\u007fb', 'surprise'];
const STRANGE_NAMES = ['surprise', '__proto__', 'constructor', 'toString', ''];
/** Longer arrays would be slow to send and are tested elsewhere. */
const MAX_ITEMS = 2_000;

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
};

/** JSON text that no JavaScript value has. */
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
    .map(([name, field]) => `${JSON.stringify(name)}:${write(field)}`)
    .join()}}`;
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/** An invalid value at the end of the path. */
interface InvalidValue {
  readonly path: Path;
  readonly value: unknown;
  /** Text that the error must contain, if it is not the last name of the path. */
  readonly errorText?: string | undefined;
}

const nameIn = (path: Path): string | undefined => path.findLast((step) => typeof step === 'string');

/** Returns a copy of `value` with `newValue` at the end of the path; undefined removes the existing value. */
function put(value: unknown, [step, ...rest]: Path, newValue: unknown): unknown {
  if (step === undefined) return newValue;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? put(item, rest, newValue) : item));
  const fields = new Map(entriesOf(value));
  const newField = put(fields.get(String(step)), rest, newValue);
  if (newField === undefined) fields.delete(String(step));
  else fields.set(String(step), newField);
  return Object.fromEntries(fields);
}

export class BadBodies {
  private readonly schemas: Readonly<Record<string, BodySchema>>;

  /** `schemas` contains the named schemas of the document. */
  constructor(schemas: Readonly<Record<string, BodySchema>>) {
    this.schemas = schemas;
  }

  /** Yields bodies that must be rejected. `validValue` may omit optional fields. */
  *invalidBodies(schema: BodySchema, validValue: unknown): Generator<BadBody> {
    for (const { path, value, errorText } of this.invalidValues(schema, validValue, []))
      yield { text: write(put(validValue, path, value)), errorText: errorText ?? nameIn(path) ?? 'body' };
    for (const [path, value] of this.objectsIn(validValue, [])) {
      for (const [name, field] of entriesOf(value)) {
        const twice = `${write(value).slice(0, -1)},${JSON.stringify(name)}:${write(field)}}`;
        yield { text: write(put(validValue, path, new Raw(twice))), errorText: `${name} is given more than once` };
      }
    }
  }

  /** Returns a valid value. */
  sample(schemaOrReference: BodySchema): unknown {
    const schema = this.resolve(schemaOrReference);
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
        const requiredProperties = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
        return Object.fromEntries(requiredProperties.map(([name, property]) => [name, this.sample(property)]));
      }
    }
  }

  private resolve(schema: BodySchema): BodySchema {
    const name = schema.$ref?.split('/').at(-1);
    if (name === undefined) return schema;
    const namedSchema = this.schemas[name];
    if (!namedSchema) throw new Error(`the document has no schema ${name}`);
    return namedSchema;
  }

  private branches(schemaOrReference: BodySchema): readonly BodySchema[] {
    const schema = this.resolve(schemaOrReference);
    return schema.anyOf ? schema.anyOf.flatMap((branch) => this.branches(branch)) : [schema];
  }

  /** Returns the types that the branches accept, or null if they accept any type. */
  private typesOf(branches: readonly BodySchema[]): Types | null {
    const types = new Set<string>();
    for (const { type, enum: values, const: constant, properties } of branches) {
      if (type === undefined && !values && constant === undefined && !properties) return null;
      if (type === 'integer') types.add('number');
      else if (type !== undefined) types.add(type);
      else for (const value of values ?? [constant]) types.add(typeOf(value));
    }
    return types;
  }

  private *invalidValues(schema: BodySchema, validValue: unknown, path: Path): Generator<InvalidValue> {
    const branches = this.branches(schema);
    const types = this.typesOf(branches);
    if (!types) return;
    for (const value of SAMPLES) if (!types.has(typeOf(value))) yield { path, value };
    for (const text of NOT_NUMBERS) yield { path, value: new Raw(text) };
    if (types.has('number')) yield { path, value: new Raw('1e999') };
    const branchesOfType = (type: string) => branches.filter((branch) => this.typesOf([branch])?.has(type));
    const textBranches = branchesOfType('string');
    for (const text of this.invalidTexts(textBranches)) yield { path, value: text };
    for (const number of this.invalidNumbers(branchesOfType('number'))) yield { path, value: number };
    for (const branch of branches) {
      if (branch.type === 'array') yield* this.invalidArrays(branch, validValue, path);
      if (branch.properties) yield* this.invalidObjects(branch, validValue, path);
    }
  }

  private invalidTexts(branches: readonly BodySchema[]): readonly string[] {
    const [branch] = branches;
    if (!branch || branches.length > 1) return [];
    const { minLength = 0, maxLength, pattern, enum: values, const: constant } = branch;
    const allowedValues = values ?? (constant === undefined ? null : [constant]);
    const isInvalid = (text: string): boolean =>
      allowedValues
        ? !allowedValues.includes(text)
        : text.length < minLength ||
          text.length > (maxLength ?? Infinity) ||
          (pattern !== undefined && !new RegExp(pattern, 'u').test(text));
    const cases = (allowedValues ?? []).flatMap((value) => [`${value} `, String(value).toUpperCase(), `${value},${value}`]);
    const longTexts = maxLength === undefined ? [] : ['x'.repeat(maxLength + 1), 'x'.repeat(maxLength * 10)];
    return [...TEXTS, ...cases, ...longTexts].filter(isInvalid);
  }

  private invalidNumbers(branches: readonly BodySchema[]): readonly number[] {
    const [branch] = branches;
    if (!branch || branches.length > 1) return [];
    const { type, minimum, maximum } = branch;
    const isInteger = type === 'integer';
    const step = isInteger ? 1 : 0.001;
    return [
      ...(isInteger ? [Math.max(minimum ?? 0, 0) + 0.5, 1e-7] : []),
      ...(minimum === undefined ? [] : [minimum - step, -1e308]),
      ...(maximum === undefined ? [] : [maximum + (Number.isSafeInteger(maximum + step) || !isInteger ? step : 2), 1e308]),
    ];
  }

  private *invalidArrays(schema: BodySchema, validValue: unknown, path: Path): Generator<InvalidValue> {
    const { items = {}, minItems = 0, maxItems } = schema;
    const validItems: readonly unknown[] = Array.isArray(validValue) && validValue.length > 0 ? validValue : [this.sample(items)];
    if (minItems > 0) yield { path, value: [] };
    if (maxItems !== undefined && maxItems < MAX_ITEMS)
      yield { path, value: Array.from({ length: maxItems + 1 }, (_, index) => validItems[index % validItems.length]) };
    if (maxItems === 0) return;
    // The invalid item is last, after a valid one.
    for (const { path: innerPath, value, errorText } of this.invalidValues(items, validItems[0], []))
      yield { path, value: [validItems[0], put(validItems[0], innerPath, value)], errorText: errorText ?? nameIn(innerPath) };
  }

  private *invalidObjects(schema: BodySchema, validValue: unknown, path: Path): Generator<InvalidValue> {
    const { properties = {}, required = [], additionalProperties } = schema;
    const validObject = typeOf(validValue) === 'object' ? validValue : this.sample(schema);
    for (const name of required) yield { path: [...path, name], value: undefined };
    if (additionalProperties === false) {
      const misspelledNames = Object.keys(properties).map((name) =>
        name.toUpperCase() === name ? name.toLowerCase() : name.toUpperCase(),
      );
      for (const name of [...STRANGE_NAMES, ...misspelledNames]) {
        const extendedObject = Object.fromEntries([...entriesOf(validObject), [name, 1]]);
        yield { path, value: extendedObject, errorText: `an unknown field: ${JSON.stringify(name)}` };
      }
    }
    const fields = new Map(entriesOf(validObject));
    for (const [name, property] of Object.entries(properties)) {
      const presentValue = fields.get(name) ?? this.sample(property);
      for (const { path: innerPath, value, errorText } of this.invalidValues(property, presentValue, []))
        yield { path: [...path, name], value: put(presentValue, innerPath, value), errorText: errorText ?? nameIn(innerPath) };
    }
  }

  private *objectsIn(value: unknown, path: Path): Generator<readonly [Path, unknown]> {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield* this.objectsIn(item, [...path, index]);
    } else if (typeOf(value) === 'object') {
      yield [path, value];
      for (const [name, field] of entriesOf(value)) yield* this.objectsIn(field, [...path, name]);
    }
  }
}
