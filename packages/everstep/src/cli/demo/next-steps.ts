/** Commands that a user can paste into a shell after the demo: two on the screen, all of them in a file. */
import { join } from 'node:path';
import { writePrivately } from '../../bootstrap/private-file.js';
import { displayPath, type Screen, styled } from '../output.js';

export interface NextStepsOptions {
  readonly url: string;
  readonly token: string;
  readonly dataDir: string;
  /** URL of the example app; null if it is not running. */
  readonly exampleUrl: string | null;
}

const AUTHORIZATION = `-H "Authorization: Bearer $EVERSTEP_TOKEN"`;
const JSON_TYPE = `-H "Content-Type: application/json"`;

const curlGet = (path: string) => `curl -s ${AUTHORIZATION} "$EVERSTEP_URL${path}"`;
const curlPost = (path: string, options = '') =>
  `curl -s -X POST ${AUTHORIZATION} ${options === '' ? '' : `${options} `}"$EVERSTEP_URL${path}"`;

/** Returns the command that confirms an order of the example. The event id needs no URL encoding. */
export const notifyCommand = (eventId: string, by: string): string =>
  curlPost(`/v2/notify/${eventId}`, `${JSON_TYPE} -d '{"by":"${by}"}'`);

interface ExampleOrder {
  readonly orderId: string;
  readonly payWith: 'card' | 'bank';
  readonly product: 'book' | 'chair';
  /** Additional headers, in the format of curl. */
  readonly headers: readonly string[];
}

/** Returns the command that posts an order of the example to `path`, which contains the workflow URL. */
function orderCommand(path: string, { orderId, payWith, product, headers }: ExampleOrder): string {
  const body = `{"orderId":"${orderId}","customer":"me@example.com","payWith":"${payWith}","lines":[{"product":"${product}","quantity":1}]}`;
  return curlPost(path, [JSON_TYPE, ...headers.map((header) => `-H "${header}"`), `-d '${body}'`].join(' '));
}

/** Returns titled groups of commands, in the order in which to try them. */
export function commandsToTry({
  exampleUrl,
}: Pick<NextStepsOptions, 'exampleUrl'>): readonly (readonly [title: string, ...commands: string[]])[] {
  const listRuns = ['List the latest runs with their steps', curlGet('/v2/workflows/logs?count=2')] as const;
  if (exampleUrl === null) return [listRuns, ['Show the API reference (OpenAPI)', 'curl -s "$EVERSTEP_URL/openapi.json"']];
  const trigger = (exampleOrder: ExampleOrder) => orderCommand(`/v2/trigger/${exampleUrl}/order`, exampleOrder);
  const waitForResult = 'Svc-Wait-For-Result: 30s';
  return [
    [
      'Place an order and wait for its result',
      trigger({ orderId: 'mine', payWith: 'card', product: 'book', headers: [waitForResult] }),
    ],
    [
      'An expensive order waits for the customer to confirm it. See why it is waiting, then confirm it',
      trigger({ orderId: 'chair', payWith: 'card', product: 'chair', headers: ['Svc-Workflow-RunId: my-chair'] }),
      curlGet('/v2/workflows/runs/my-chair/explain'),
      notifyCommand('confirmed-chair', 'me@example.com'),
    ],
    [
      'Place an order that fails because the bank is down, then find it in the dead letter queue',
      `curl -s -X POST ${exampleUrl}/bank/down; ${trigger({
        orderId: 'unlucky',
        payWith: 'bank',
        product: 'book',
        headers: ['Svc-Retries: 1', 'Svc-Retry-Delay: 300', waitForResult],
      })}`,
      curlGet('/v2/workflows/dlq'),
    ],
    [
      'Bring the bank back up and resume all failed orders',
      `curl -s -X POST ${exampleUrl}/bank/up; ${curlPost('/v2/workflows/dlq/resume')}`,
    ],
    [
      'Flow control: the carrier takes one parcel at a time. Pause deliveries to it, then resume them',
      curlGet('/v2/flowControl'),
      curlPost('/v2/flowControl/carrier/pause'),
      curlPost('/v2/flowControl/carrier/resume'),
    ],
    [
      'Schedule an order every minute from 9 am to 5 pm Berlin time, show the schedule, then delete it',
      orderCommand(`/v2/schedules/${exampleUrl}/order`, {
        orderId: 'subscription',
        payWith: 'card',
        product: 'book',
        headers: ['Svc-Cron: CRON_TZ=Europe/Berlin * 9-16 * * *', 'Svc-Schedule-Id: books'],
      }),
      curlGet('/v2/schedules/books'),
      `curl -s -X DELETE ${AUTHORIZATION} "$EVERSTEP_URL/v2/schedules/books"`,
    ],
    listRuns,
  ];
}

/** Returns all commands as text. It contains the token and must be written to a private file. */
export function allStepsText({ url, token, exampleUrl }: Pick<NextStepsOptions, 'url' | 'token' | 'exampleUrl'>): string {
  const groups = commandsToTry({ exampleUrl }).map(
    ([title, ...commands]) => `\n  # ${title}\n${commands.map((command) => `  ${command}\n`).join('')}`,
  );
  return `  export EVERSTEP_URL=${url} EVERSTEP_TOKEN=${token}\n${groups.join('')}`;
}

/** Returns the file in the data directory that contains all commands to try. */
export const allStepsFile = (dataDir: string): string => join(dataDir, 'next-steps.txt');

/** Returns `everstep` commands. They find the server and its token automatically. */
const firstSteps = (exampleUrl: string | null): readonly { readonly command: string; readonly title: string }[] => [
  exampleUrl === null
    ? { command: 'npx everstep env', title: 'Print the settings for your app. README.md continues with "Your first workflow"' }
    : {
        command: `npx everstep trigger ${exampleUrl}/order --body '{"orderId":"mine","customer":"me@example.com","payWith":"card","lines":[{"product":"book","quantity":1}]}'`,
        title: 'Place your own order',
      },
  { command: 'npx everstep runs list', title: 'List the latest runs' },
];

/** Writes all commands to a private file. Resolves with the text to print: two commands, and the path of the file. */
export async function writeNextSteps(screen: Screen, steps: NextStepsOptions): Promise<string> {
  const file = allStepsFile(steps.dataDir);
  await writePrivately(file, allStepsText(steps));
  const lines = firstSteps(steps.exampleUrl).map(({ command, title }) => `\n  # ${title}\n  ${command}\n`);
  return [
    `${styled(screen, 'bold', 'Try next')}, in another terminal:\n`,
    ...lines,
    `\nMore commands, with the URL and the token for curl, are in ${displayPath(file)}.\n`,
    '\nPress Ctrl-C to stop. Your data is kept for the next start.\n',
  ].join('');
}
