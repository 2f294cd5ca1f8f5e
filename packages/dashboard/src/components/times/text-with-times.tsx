/** A sentence from the server. It contains times in UTC, which are shown in the user's time zone. */
import { TimeText } from './time-text.js';

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

export function TextWithTimes({ text }: { readonly text: string }) {
  return text.split(TIME).map((part, index) =>
    // Parts with an odd index are times.
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is identified by its position
    index % 2 === 1 ? <TimeText key={index} unixMs={Date.parse(part)} style="exact" /> : part,
  );
}
