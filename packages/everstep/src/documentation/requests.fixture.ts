/** The curl commands in a text and the requests they send. */
import { wordsOf } from './commands.fixture.js';

const VARIABLE_URL = /["']?\$\{?(?:EVERSTEP_(?:MANAGEMENT_)?URL|MANAGEMENT_URL|SEARCH_URL|QSTASH_URL)\}?(\/[^\s"'?]*)/;

export interface ShownRequest {
  readonly method: string;
  readonly path: string;
}

/** Returns the commands in a text. A line that ends with a backslash continues; otherwise a command ends with its line. */
const commandsIn = (text: string): readonly string[] =>
  [...text.replace(/\\\n/g, ' ').matchAll(/\bcurl [^\n`]*/g)].map(([command]) => command);

/** Returns the requests of curl commands whose URL starts with a variable for the server URL. */
export function requestsIn(text: string): readonly ShownRequest[] {
  return commandsIn(text).flatMap((command) => {
    const [, path] = VARIABLE_URL.exec(command) ?? [];
    if (path === undefined) return [];
    const explicitMethod = /(?:-X|--request) *([A-Z]+)/.exec(command)?.[1];
    return [{ method: explicitMethod ?? (/ (-d|--data\S*|--json) /.test(command) ? 'POST' : 'GET'), path }];
  });
}

export interface PresentedBody {
  readonly body: string;
  /** Whether a header of the command, or the start of the body, indicates JSON. */
  readonly isDeclaredJson: boolean;
}

/** Returns the request bodies of the curl commands in a text. */
export function bodiesIn(text: string): readonly PresentedBody[] {
  return commandsIn(text).flatMap((command) => {
    const words = wordsOf(command);
    const hasJsonHeader = words.some((word) => /^content-type: *application\/json/i.test(word));
    return words.flatMap((word, index) => {
      const body = words[index + 1] ?? '';
      return /^(-d|--data|--data-raw|--json)$/.test(word)
        ? [{ body, isDeclaredJson: hasJsonHeader || /^\s*[{[]/.test(body) }]
        : [];
    });
  });
}
