/**
 * JSON response whose long lists are read while they are sent. The next part of a list is read when the client has read the
 * previous one, so that memory contains at most two parts. The text is the same as for the whole value.
 */
import { Readable } from 'node:stream';

/** List that is read in parts. */
export class StreamedList<Item> {
  readonly parts: AsyncIterable<readonly Item[]>;

  constructor(parts: AsyncIterable<readonly Item[]>) {
    this.parts = parts;
  }
}

/** Converts a value to JSON text. */
type Stringify = (value: unknown) => string;

async function* listText({ parts }: StreamedList<unknown>, stringify: Stringify): AsyncGenerator<string> {
  let separator = '[';
  for await (const part of parts) {
    if (part.length === 0) continue;
    const text = stringify(part);
    yield separator + text.slice(1, -1);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

async function* objectText(body: Readonly<Record<string, unknown>>, stringify: Stringify): AsyncGenerator<string> {
  let pendingText = '{';
  let separator = '';
  for (const [name, value] of Object.entries(body)) {
    const isList = value instanceof StreamedList;
    // Includes the name, because some values are masked by name.
    const text = isList ? `${JSON.stringify(name)}:` : stringify({ [name]: value }).slice(1, -1);
    if (text === '') continue;
    pendingText += separator + text;
    separator = ',';
    if (!isList) continue;
    yield pendingText;
    pendingText = '';
    yield* listText(value, stringify);
  }
  yield `${pendingText}}`;
}

type Slice = <Result>(work: () => Promise<Result>) => Promise<Result>;

async function* readInSlices(texts: AsyncGenerator<string>, slice: Slice): AsyncGenerator<string> {
  try {
    for (let next = await slice(() => texts.next()); next.done !== true; next = await slice(() => texts.next())) yield next.value;
  } finally {
    await texts.return(undefined);
  }
}

export class StreamedJson {
  private readonly body: StreamedList<unknown> | Readonly<Record<string, unknown>>;

  constructor(body: StreamedList<unknown> | Readonly<Record<string, unknown>>) {
    this.body = body;
  }

  text(stringify: Stringify = JSON.stringify): AsyncGenerator<string> {
    return this.body instanceof StreamedList ? listText(this.body, stringify) : objectText(this.body, stringify);
  }

  /** Returns the text as a stream. One part is read ahead. `slice` schedules the work for each part. */
  stream(stringify?: Stringify, slice: Slice = (work) => work()): Readable {
    return Readable.from(readInSlices(this.text(stringify), slice), { objectMode: false, highWaterMark: 1 });
  }
}

type Streamed<Body> = Body extends readonly (infer Item)[]
  ? StreamedList<Item>
  : {
      readonly [Name in keyof Body]:
        | Body[Name]
        | (Body[Name] extends readonly (infer Item)[] | undefined ? StreamedList<Item> : never);
    };

/** Returns a streamed response with the type that the client sees. */
export const streamedResponse = <Body>(body: Streamed<Body>): Body =>
  new StreamedJson(body as StreamedList<unknown> | Readonly<Record<string, unknown>>) as Body;
