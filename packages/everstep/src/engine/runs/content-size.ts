/** Sizes of the contents of events. */
import type { EventContent } from '@everstep/sdk/protocol';

const textBytes = (values: readonly (string | readonly string[])[]): number =>
  values.flat().reduce((sum, text) => sum + text.length, 0);

/** Returns the number of characters of the names and values. */
export const headerBytes = (headers: Readonly<Record<string, string | readonly string[]>>): number =>
  textBytes(Object.keys(headers)) + textBytes(Object.values(headers));

/** Returns the size of an event. Its body counts in its stored form: text or Base64. */
export const contentBytes = (content: EventContent): number =>
  content.body.data.length + (content.kind === 'request' ? content.query.length + headerBytes(content.headers) : 0);
