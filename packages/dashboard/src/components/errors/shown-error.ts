/** Texts of errors: the start of a long message, the parts of a stack, and the whole error as text. */
import type { ErrorSource, StackLine, ThrownError } from '../../../../everstep/src/contract/fields/thrown-error.js';

export interface ShownError {
  readonly message: string;
  /** Details that the app reported with the message. */
  readonly thrown?: ThrownError | undefined;
}

const FOLDED_LENGTH = 600;
const FOLDED_LINES = 8;

/** Returns the start of a long message; null if the message is short. */
export function foldedStart(message: string): string | null {
  const start = message.split('\n', FOLDED_LINES).join('\n').slice(0, FOLDED_LENGTH);
  return start.length < message.length ? start : null;
}

/** Returns a location in the code: `src/charge.js:7 in charge()` */
export const sourceText = ({ file, line, function: name }: ErrorSource): string =>
  `${file}:${line}${name === undefined ? '' : ` in ${name}()`}`;

/** Consecutive frames that are all in the user's own code, or all in Node.js, the SDK and packages. */
export interface StackPart {
  readonly isOwn: boolean;
  readonly frames: readonly string[];
}

/** Divides a stack into parts, innermost first. */
export function partsOfStack(stack: readonly StackLine[]): readonly StackPart[] {
  const parts: { readonly isOwn: boolean; readonly frames: string[] }[] = [];
  for (const { text, own } of stack) {
    const lastPart = parts.at(-1);
    if (lastPart?.isOwn === own) lastPart.frames.push(text);
    else parts.push({ isOwn: own, frames: [text] });
  }
  return parts;
}

const indentFrames = (stack: readonly StackLine[] = []): readonly string[] => stack.map(({ text }) => `    ${text}`);

/** Returns the whole error as a runtime prints it. */
export function textOfError({ message, thrown }: ShownError): string {
  const { source, stack, causes = [] } = thrown ?? {};
  const frames = stack === undefined && source !== undefined ? [`    at ${sourceText(source)}`] : indentFrames(stack);
  return [
    message,
    ...frames,
    ...causes.flatMap((cause) => [`Caused by ${cause.name}: ${cause.message}`, ...indentFrames(cause.stack)]),
  ].join('\n');
}

const STACK_MEMBER = /("stack"\s*:\s*)"([^"\\]*(?:\\.[^"\\]*)*)(?:"|$)/gs;

/**
 * Replaces the stacks in the body of a response that are shown with the error itself, because JSON escapes their line breaks. Other
 * strings stay, even if their name is `stack`. The body may be cut.
 */
export function hideShownStacks(body: string, thrown: ThrownError | undefined): string {
  const shownFrames = [thrown?.stack, ...(thrown?.causes ?? []).map(({ stack }) => stack)].flatMap((stack) => {
    const [firstLine] = stack ?? [];
    return firstLine === undefined ? [] : [JSON.stringify(firstLine.text).slice(1, -1)];
  });
  return body.replaceAll(STACK_MEMBER, (member: string, name: string, text: string) =>
    shownFrames.some((frame) => text.includes(frame)) ? `${name}"(shown above)"` : member,
  );
}
