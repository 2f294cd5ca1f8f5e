/** Describes errors that the code of an app has thrown, and groups of them. */
import type { DeadLetterEntry, DeadLetterGroup } from '@everstep/sdk';
import { countText, instant, printable, type Screen, styled } from '../../output.js';

type FailedBy = NonNullable<DeadLetterEntry['failedBy']>;
type Source = NonNullable<NonNullable<DeadLetterGroup['latest']>['source']>;
type Stack = NonNullable<NonNullable<FailedBy['thrown']>['stack']>;

/** Formats a position in source code: `src/charge.js:7 in charge()`. */
export const sourceText = ({ file, line, function: name }: Source): string =>
  `${file}:${line}${name === undefined ? '' : ` in ${name}()`}`;

const linesOf = (text: string): string[] => text.split('\n').map(printable);
const indentLines = (lines: readonly string[], indentation: string): string =>
  lines.map((line) => `${indentation}${line}\n`).join('');

const stackText = (screen: Screen, stack: Stack | undefined, indentation: string): string =>
  (stack ?? [])
    .map(({ text, own }) => `${indentation}${own ? printable(text) : styled(screen, 'dim', printable(text))}\n`)
    .join('');

/** Returns the message with its line breaks, the source line, the stack and the causes. Frames of libraries are dim. */
export function failureText(screen: Screen, { stepName, message, thrown }: FailedBy): string {
  const source = thrown?.source;
  const sections = [
    `${stepName === null ? 'Failed' : `Step ${printable(stepName)} failed`}:\n`,
    indentLines(linesOf(message), '  '),
    source ? `  at ${printable(sourceText(source))}${source.code === undefined ? '' : `: ${printable(source.code)}`}\n` : '',
    stackText(screen, thrown?.stack, '    '),
    ...(thrown?.causes ?? []).map(
      (cause) =>
        `Caused by ${printable(cause.name)}${cause.code === undefined ? '' : ` (${printable(cause.code)})`}:\n` +
        indentLines(linesOf(cause.message), '  ') +
        stackText(screen, cause.stack, '    '),
    ),
  ];
  return sections.join('');
}

const STATE_TEXTS: Readonly<Record<DeadLetterGroup['state'], string>> = {
  new: 'new: first seen less than a day ago and not acknowledged',
  known: 'known',
  regressed: 'regressed: it was resolved, but has occurred again',
};

const decisionText = ({ at, by }: { readonly at: number; readonly by: string }): string =>
  `by ${printable(by)} on ${instant(at)} UTC`;

/** Describes a group in sentences, with times in UTC. */
export function groupText(screen: Screen, group: DeadLetterGroup): string {
  const { latest, responseStatus, workflows } = group;
  const outcomeText = responseStatus === null ? 'without a response' : `with the status ${responseStatus}`;
  const statusLines = [
    group.acknowledgedAt === null
      ? ''
      : `Acknowledged ${instant(group.acknowledgedAt)} UTC${group.acknowledgedBy === null ? '' : ` by ${printable(group.acknowledgedBy)}`}.\n`,
    group.resolvedAt === null ? '' : `Resolved ${instant(group.resolvedAt)} UTC.\n`,
    group.regressedAt === null ? '' : `Regressed ${instant(group.regressedAt)} UTC.\n`,
    group.assignment === null ? '' : `Assigned to ${printable(group.assignment.assignee)} ${decisionText(group.assignment)}.\n`,
    group.snooze === null ? '' : `Snoozed until ${instant(group.snooze.until)} UTC ${decisionText(group.snooze)}.\n`,
    ...group.notes.map((note) => `Note ${note.noteId} ${decisionText(note)}:\n${indentLines(linesOf(note.text), '  ')}`),
  ];
  return [
    `Group ${styled(screen, 'bold', group.fingerprint)} is ${STATE_TEXTS[group.state]}.\n`,
    `It has ${countText(group.count, 'dead letter')} now (${group.total} in total). They failed in ${
      group.stepName === null ? 'the code between steps' : `step ${printable(group.stepName)}`
    } ${outcomeText}.\n`,
    `First seen ${instant(group.firstSeenAt)} UTC, last seen ${instant(group.lastSeenAt)} UTC.\n`,
    ...statusLines,
    `Message pattern: ${printable(group.message)}\n`,
    latest
      ? `Newest dead letter: ${group.exampleDlqId ?? '-'}\n${failureText(screen, { ...latest, thrown: latest.source ? { source: latest.source } : {} })}`
      : '',
    workflows.length === 0 ? '' : 'Workflows:\n',
    ...workflows.map(({ workflowUrl, count }) => `  ${count}  ${printable(workflowUrl)}\n`),
  ].join('');
}
