/** Finds `everstep` commands in user-facing text and checks whether the program accepts them. */
import type { Command, Option } from 'commander';
import { type Page, shellLinesOf, sourceLines } from './pages.fixture.js';

/** Splits a command line into words like a shell, up to a pipe, redirection, comment or second command. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? '';
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (char === '\\' && quote === '"') word += line[++index] ?? '';
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (line.startsWith('$(', index)) {
      const end = line.indexOf(')', index);
      word = (word ?? '') + line.slice(index, end === -1 ? undefined : end + 1);
      if (end === -1) break;
      index = end;
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (';|&'.includes(char) || (char === '>' && word === null) || (char === '#' && word === null) || char === ')') break;
    else if (char === '<' && word === null) {
      // The text is a placeholder such as <run id>. A redirection is followed by a space or a path.
      const end = line.indexOf('>', index);
      if (end === -1 || line[index + 1] === ' ') break;
      word = line.slice(index, end + 1);
      index = end;
    } else word = (word ?? '') + char;
  }
  if (word !== null) words.push(word);
  return words;
}

const maxArguments = (command: Command): number => {
  const { registeredArguments } = command;
  return registeredArguments.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : registeredArguments.length;
};

const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
];

/**
 * Returns the problem with the words after `everstep`; null if the program accepts them. A mention in a sentence, for which
 * `isComplete` is false, may omit arguments, but its commands and options must exist.
 */
export function problemOf(program: Command, words: readonly string[], { isComplete }: { isComplete: boolean }): string | null {
  let command = program;
  const positionals: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    if (word === '--help' || word === '--version' || word === '...') return null;
    if (word.startsWith('--')) {
      const [name = '', value] = word.split(/=(.*)/s, 2);
      const option = optionsOf(command).find(({ long }) => long === name);
      if (!option) return `${command.name()} has no option ${name}`;
      if (!option.required || value !== undefined) continue;
      if (index + 1 >= words.length && isComplete) return `${name} needs a value`;
      index++;
      continue;
    }
    const child: Command | undefined =
      positionals.length === 0 ? command.commands.find((subcommand) => subcommand.name() === word) : undefined;
    if (child) command = child;
    else positionals.push(word);
  }
  const hasAction = command.registeredArguments.length > 0 || command.commands.length === 0;
  if (command.commands.length > 0 && !hasAction) {
    if (positionals.length > 0) return `${command.name()} has no command ${positionals[0]}`;
    return null;
  }
  if (positionals.length > maxArguments(command))
    return `${command.name()} takes no argument ${positionals[maxArguments(command)]}`;
  const requiredCount = command.registeredArguments.filter(({ required }) => required).length;
  if (isComplete && positionals.length < requiredCount) return `${command.name()} needs ${requiredCount} arguments`;
  return null;
}

export interface ShownCommand {
  readonly words: readonly string[];
  /** Whether the text is a command line to type, not a mention in a sentence. */
  readonly isComplete: boolean;
  readonly line: number;
}

const PROGRAM = /(?:^|[\s$(`])(?:npx )?everstep(?= )/;
/** Matches the time and the user in a line of the system crontab. */
const CRONTAB_PREFIX = /^(?:[\d*,/-]+ ){5}\w+ /;
/** Matches lines that the reader types. All other lines are output. */
const COMMAND_LINE = /^(\$ |[A-Z_]+=\S* +|npx |everstep |\S+="?\$\()/;

function commandIn(text: string): readonly string[] | null {
  const match = PROGRAM.exec(text);
  return match && wordsOf(text.slice(match.index + match[0].length));
}

/** Returns the commands in a Markdown page: in shell blocks and in inline code. */
export function commandsInMarkdown(page: Page): readonly ShownCommand[] {
  const commandLines = shellLinesOf(page).map(({ text, line }) => ({
    text: text.replace(CRONTAB_PREFIX, ''),
    line,
    isComplete: true,
  }));
  const mentions = page.inline.map(({ code, line }) => ({ text: code, line, isComplete: false }));
  const lines = [
    ...commandLines.filter(({ text }) => COMMAND_LINE.test(text)),
    ...mentions.filter(({ text }) => /^(npx )?everstep /.test(text)),
  ];
  return lines.flatMap(({ text, line, isComplete }) => {
    const words = commandIn(text);
    return words ? [{ words, isComplete, line }] : [];
  });
}

/** Returns a text as JSX displays it. In JSX, texts with braces or quotes are written as {'...'}. */
const displayedText = (text: string): string => text.replace(/\{'([^']*)'\}/g, '$1').replace(/\\`/g, '`');

/**
 * Returns the commands in texts of a source: in `<code>`, in backticks, or after `npx`. Elsewhere returns the first word after
 * `everstep`, which may belong to the sentence.
 */
export function commandsInSource(text: string): readonly ShownCommand[] {
  return sourceLines(text).flatMap(({ text: content, line }) => {
    const displayed = displayedText(content);
    const codeMatches = [...displayed.matchAll(/(?:<code>|`|(?=npx ))((?:npx )?everstep [^`<\n]*(?:<[^/`][^>`]*>[^`<\n]*)*)/g)];
    const commands = codeMatches.flatMap(([, code = '']) => {
      const words = commandIn(code.replace(/\$\{[^}]*\}/g, 'value').split(/[;,] [a-z]|' *[,)]|…/)[0] ?? '');
      return words ? [{ words, isComplete: false, line }] : [];
    });
    const mentions = codeMatches.length > 0 ? [] : [...displayed.matchAll(/(?<=[a-z] )(?<!package )everstep ([a-z][a-z-]*)/g)];
    return [...commands, ...mentions.map(([, word = '']) => ({ words: [word], isComplete: false, line }))];
  });
}

/** Returns the options in a text, such as `--port`, without CSS custom properties such as `var(--space)`. */
export const optionsIn = (text: string): readonly string[] =>
  [...displayedText(text).matchAll(/(?<![\w(-])--[a-z][a-z-]*[a-z](?![\w-])/g)].map(([name]) => name);

/** Returns the names of all options of a command and its subcommands. */
export const optionNames = (command: Command): readonly string[] => [
  ...command.options.flatMap(({ long }) => (long ? [long] : [])),
  ...command.commands.flatMap(optionNames),
];
