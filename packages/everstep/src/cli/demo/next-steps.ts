/** What to try next: commands that work when they are pasted into a shell. */
import { relative } from 'node:path';
import { type Screen, styled } from '../output.js';

export interface NextSteps {
  readonly url: string;
  readonly token: string;
  readonly dataDir: string;
  /** The example app, when it runs. */
  readonly exampleUrl: string | null;
}

const AUTHORIZATION = `-H "Authorization: Bearer $EVERSTEP_TOKEN"`;

/** Title and command, in the order in which they make sense. */
export function commandsToTry({ exampleUrl }: Pick<NextSteps, 'exampleUrl'>): readonly (readonly [string, string])[] {
  const logs: readonly [string, string] = [
    'The latest runs, with their steps',
    `curl -s ${AUTHORIZATION} "$EVERSTEP_URL/v2/workflows/logs?count=2"`,
  ];
  if (exampleUrl === null) return [logs, ['The whole API', 'curl -s "$EVERSTEP_URL/openapi.json"']];
  const trigger = (payWith: string, more: string) =>
    `curl -s ${AUTHORIZATION} -H "Content-Type: application/json" ${more} -d '{"orderId":"mine","customer":"me@example.com","payWith":"${payWith}","lines":[{"product":"book","quantity":1}]}' "$EVERSTEP_URL/v2/trigger/${exampleUrl}/order"`;
  return [
    [
      'An order of your own; the answer comes when it is done',
      trigger('card', '-H "Svc-Retry-Delay: 500" -H "Svc-Wait-For-Result: 30s"'),
    ],
    [
      'One that fails, because the bank is down again',
      `curl -s -X POST ${exampleUrl}/bank/down; ${trigger('bank', '-H "Svc-Retries: 1" -H "Svc-Retry-Delay: 300" -H "Svc-Wait-For-Result: 30s"')}`,
    ],
    ['The dead letter queue', `curl -s ${AUTHORIZATION} "$EVERSTEP_URL/v2/workflows/dlq"`],
    [
      'The bank is up: resume all that failed',
      `curl -s -X POST ${exampleUrl}/bank/up; curl -s -X POST ${AUTHORIZATION} "$EVERSTEP_URL/v2/workflows/dlq/resume"`,
    ],
    logs,
  ];
}

export function nextStepsText(screen: Screen, steps: NextSteps): string {
  const row = (name: string, value: string) => `  ${styled(screen, 'dim', name.padEnd(8))}${value}\n`;
  const tries = commandsToTry(steps).map(([title, command]) => `\n  # ${title}\n  ${command}\n`);
  return [
    row('URL', styled(screen, 'cyan', steps.url)),
    row('token', steps.token),
    row('data', relative(process.cwd(), steps.dataDir) || '.'),
    `\n${styled(screen, 'bold', 'Try next')}, in another terminal:\n\n`,
    `  export EVERSTEP_URL=${steps.url} EVERSTEP_TOKEN=${steps.token}\n`,
    ...tries,
    '\nCtrl-C stops everything; the data is kept for the next start.\n',
  ].join('');
}
