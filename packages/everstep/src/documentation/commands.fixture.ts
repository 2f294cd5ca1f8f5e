/** Finds `everstep` commands in user-facing text and checks whether the program accepts them. */
import type { Command, Option } from 'commander';
import { type Page, shellLinesOf, sourceLines } from './pages.fixture.js';

/** Splits a command line into words like a shell, up to a pipe, redirection, comment or second command. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? '';
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (char === '\\' && quote === '"') word += line[++at] ?? '';
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (line.startsWith('$(', at)) {
      const end = line.indexOf(')', at);
      word = (word ?? '') + line.slice(at, end === -1 ? undefined : end + 1);
      if (end === -1) break;
      at = end;
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (';|&'.includes(char) || (char === '>' && word === null) || (char === '#' && word === null) || char === ')') break;
    else if (char === '<' && word === null) {
      // The text is a placeholder such as <run id>. A redirection is followed by a space or a path.
      const end = line.indexOf('>', at);
      if (end === -1 || line[at + 1] === ' ') break;
      word = line.slice(at, end + 1);
      at = end;
    } else word = (word ?? '') + char;
  }
  if (word !== null) words.push(word);
  return words;
}

const longest = (command: Command): number => {
  const { registeredArguments } = command;
  return registeredArguments.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : registeredArguments.length;
};

const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
];

/**
 * Returns what is wrong with the words after `everstep`; null when the program accepts them. A mention in a sentence (`complete`
 * is false) may omit arguments, but its names must exist.
 */
export function problemOf(program: Command, words: readonly string[], { complete }: { complete: boolean }): string | null {
  let command = program;
  const given: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--help' || word === '--version' || word === '...') return null;
    if (word.startsWith('--')) {
      const [name = '', value] = word.split(/=(.*)/s, 2);
      const option = optionsOf(command).find(({ long }) => long === name);
      if (!option) return `${command.name()} has no option ${name}`;
      if (!option.required || value !== undefined) continue;
      if (at + 1 >= words.length && complete) return `${name} needs a value`;
      at++;
      continue;
    }
    const child: Command | undefined = given.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (child) command = child;
    else given.push(word);
  }
  const hasAction = command.registeredArguments.length > 0 || command.commands.length === 0;
  if (command.commands.length > 0 && !hasAction) {
    if (given.length > 0) return `${command.name()} has no command ${given[0]}`;
    return null;
  }
  if (given.length > longest(command)) return `${command.name()} takes no argument ${given[longest(command)]}`;
  const min = command.registeredArguments.filter(({ required }) => required).length;
  if (complete && given.length < min) return `${command.name()} needs ${min} arguments`;
  return null;
}

export interface ShownCommand {
  readonly words: readonly string[];
  /** Whether the text is a command line to type, not a mention in a sentence. */
  readonly complete: boolean;
  readonly line: number;
}

const PROGRAM = /(?:^|[\s$(`])(?:npx )?everstep(?= )/;
/** Matches the time and the user in a line of the system crontab. */
const CRON = /^(?:[\d*,/-]+ ){5}\w+ /;
/** Matches command lines to type; other lines are output. */
const TYPED = /^(\$ |[A-Z_]+=\S* +|npx |everstep |\S+="?\$\()/;

function commandIn(text: string): readonly string[] | null {
  const found = PROGRAM.exec(text);
  return found && wordsOf(text.slice(found.index + found[0].length));
}

/** Returns the commands in a Markdown page: in shell blocks and in inline code. */
export function commandsInMarkdown(page: Page): readonly ShownCommand[] {
  const typed = shellLinesOf(page).map(({ text, line }) => ({ text: text.replace(CRON, ''), line, complete: true }));
  const mentioned = page.inline.map(({ code, line }) => ({ text: code, line, complete: false }));
  const lines = [
    ...typed.filter(({ text }) => TYPED.test(text)),
    ...mentioned.filter(({ text }) => /^(npx )?everstep /.test(text)),
  ];
  return lines.flatMap(({ text, line, complete }) => {
    const words = commandIn(text);
    return words ? [{ words, complete, line }] : [];
  });
}

/** Returns a text as JSX displays it. Texts with braces or quotes are written as {'...'}. */
const shown = (text: string): string => text.replace(/\{'([^']*)'\}/g, '$1').replace(/\\`/g, '`');

/**
 * Returns the commands in texts of a source: in `<code>`, in backticks, or after `npx`. Elsewhere returns the first word after
 * `everstep`, which may belong to the sentence.
 */
export function commandsInSource(text: string): readonly ShownCommand[] {
  return sourceLines(text).flatMap(({ text: content, line }) => {
    const plain = shown(content);
    const marked = [...plain.matchAll(/(?:<code>|`|(?=npx ))((?:npx )?everstep [^`<\n]*(?:<[^/`][^>`]*>[^`<\n]*)*)/g)];
    const commands = marked.flatMap(([, code = '']) => {
      const words = commandIn(code.replace(/\$\{[^}]*\}/g, 'value').split(/[;,] [a-z]|' *[,)]|…/)[0] ?? '');
      return words ? [{ words, complete: false, line }] : [];
    });
    const bare = marked.length > 0 ? [] : [...plain.matchAll(/(?<=[a-z] )(?<!package )everstep ([a-z][a-z-]*)/g)];
    return [...commands, ...bare.map(([, word = '']) => ({ words: [word], complete: false, line }))];
  });
}

/** Returns the options in a text, such as `--port`, without CSS custom properties such as `var(--space)`. */
export const optionsIn = (text: string): readonly string[] =>
  [...shown(text).matchAll(/(?<![\w(-])--[a-z][a-z-]*[a-z](?![\w-])/g)].map(([name]) => name);

/** Returns the names of all options of a command and its subcommands. */
export const optionNames = (command: Command): readonly string[] => [
  ...command.options.flatMap(({ long }) => (long ? [long] : [])),
  ...command.commands.flatMap(optionNames),
];
