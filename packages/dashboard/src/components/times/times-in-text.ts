/** Finds times in sentences from the server. */

/** A quoted text, which is an id or a text of the app and stays unchanged, or a time in UTC. */
const QUOTED_OR_TIME = /"(?:[^"\\]|\\.)*"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A part of a sentence: a text, or a time in Unix ms. */
export type TextPart = string | number;

/** Returns the time in Unix ms, or null for a date that does not exist, such as February 30. */
function timeIn(text: string): number | null {
  const unixMs = Date.parse(text);
  return !Number.isNaN(unixMs) && new Date(unixMs).toISOString().startsWith(text.slice(0, 19)) ? unixMs : null;
}

/** Splits a sentence into texts and times. An app can put anything into an error, including quotes and invalid dates. */
export function splitTimes(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let textFrom = 0;
  for (const { 0: match, index } of text.matchAll(QUOTED_OR_TIME)) {
    const unixMs = match.startsWith('"') ? null : timeIn(match);
    if (unixMs === null) continue;
    parts.push(text.slice(textFrom, index), unixMs);
    textFrom = index + match.length;
  }
  return [...parts, text.slice(textFrom)];
}
