/** A sentence of the service: the times in it are UTC, and are shown in the zone of the reader. */
import { TimeText } from './time-text.js';

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

export function TextWithTimes({ text }: { readonly text: string }) {
  return text.split(TIME).map((part, index) =>
    // Every other part is a time.
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is what stands at its place
    index % 2 === 1 ? <TimeText key={index} unixMs={Date.parse(part)} style="exact" /> : part,
  );
}
