/** The curl commands in a text, and what they ask of the service. */
import { wordsOf } from './commands.fixture.js';

const VARIABLE_URL = /["']?\$\{?(?:EVERSTEP_(?:MANAGEMENT_)?URL|MANAGEMENT_URL|SEARCH_URL|QSTASH_URL)\}?(\/[^\s"'?]*)/;

export interface ShownRequest {
  readonly method: string;
  readonly path: string;
}

/** A line that ends with a backslash continues on the next one; a command ends with its line. */
const commandsIn = (text: string): readonly string[] =>
  [...text.replace(/\\\n/g, ' ').matchAll(/\bcurl [^\n`]*/g)].map(([command]) => command);

/** Returns the requests of the curl commands in a text whose URL starts with a variable for the URL of the service. */
export function requestsIn(text: string): readonly ShownRequest[] {
  return commandsIn(text).flatMap((command) => {
    const [, path] = VARIABLE_URL.exec(command) ?? [];
    if (path === undefined) return [];
    const given = /(?:-X|--request) *([A-Z]+)/.exec(command)?.[1];
    return [{ method: given ?? (/ (-d|--data\S*|--json) /.test(command) ? 'POST' : 'GET'), path }];
  });
}

export interface ShownBody {
  readonly body: string;
  /** A header of the command says so, or the text starts as JSON does. */
  readonly saysJson: boolean;
}

/** Returns the bodies that the curl commands in a text send. */
export function bodiesIn(text: string): readonly ShownBody[] {
  return commandsIn(text).flatMap((command) => {
    const words = wordsOf(command);
    const typed = words.some((word) => /^content-type: *application\/json/i.test(word));
    return words.flatMap((word, at) => {
      const body = words[at + 1] ?? '';
      return /^(-d|--data|--data-raw|--json)$/.test(word) ? [{ body, saysJson: typed || /^\s*[{[]/.test(body) }] : [];
    });
  });
}
