/** A sentence from the server. It contains times in UTC, which are shown in the user's time zone. */
import { TimeText } from './time-text.js';
import { splitTimes } from './times-in-text.js';

export function TextWithTimes({ text }: { readonly text: string }) {
  return splitTimes(text).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is identified by its position
    typeof part === 'number' ? <TimeText key={index} unixMs={part} style="exact" /> : part,
  );
}
