/** `everstep schedules create|list|get|change|next|run|pause|resume|delete` */
import type { ScheduleEntry } from '@everstep/sdk';
import { Command } from 'commander';
import { readTextBody, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, printable, type Screen, type Shell, styled, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { type RunSettingOptions, runSettings, withRunSettings } from '../runs/run-settings.js';

interface CreateOptions extends ClientOptions, RunSettingOptions {
  readonly cron: string;
  readonly timezone?: string;
  readonly id?: string;
}

function createCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withRunSettings(withConnection(new Command('create')))
    .description('Create a schedule that starts runs of the workflow at a URL. A schedule with the same id is replaced.')
    .argument('<url>', 'URL of the workflow')
    .requiredOption('--cron <expression>', 'cron expression with five fields, or six with leading seconds: "0 9 * * 1-5"')
    .option('--timezone <name>', 'IANA time zone of the expression, such as Europe/Berlin (default: UTC)')
    .option('--id <id>', 'id of the schedule (default: generated)');
  return command.action(async (workflowUrl: string) => {
    if (!URL.canParse(workflowUrl)) throw new UsageError(`<url> must be an absolute URL; got "${workflowUrl}"`);
    const { client, options } = await openClient<CreateOptions>(command, shell);
    const schedule = await client.schedules.create(workflowUrl, {
      ...(await runSettings(command)),
      cron: options.cron,
      timezone: options.timezone,
      scheduleId: options.id,
    });
    screen.write(options.json ? json(schedule) : `${schedule.scheduleId}\n`);
  });
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List schedules, oldest first.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const schedules = await client.schedules.list();
    if (options.json) return screen.write(json(schedules));
    if (schedules.length === 0) return screen.write('No schedules.\n');
    const rows = schedules.map((schedule) => [
      schedule.scheduleId,
      schedule.cron,
      schedule.timezone,
      schedule.isPaused ? 'paused' : instant(schedule.nextScheduleTime),
      instant(schedule.lastScheduleTime),
      schedule.destination,
    ]);
    screen.write(table(screen, ['SCHEDULE', 'CRON', 'TIME ZONE', 'NEXT (UTC)', 'LAST (UTC)', 'WORKFLOW'], rows));
  });
}

function showSchedule(screen: Screen, schedule: ScheduleEntry): void {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['schedule', schedule.scheduleId],
    ['cron', `${schedule.cron} (${schedule.timezone})`],
    ['workflow', schedule.destination],
    ['next', schedule.isPaused ? 'paused' : instant(schedule.nextScheduleTime)],
    ['last', schedule.lastScheduleTime === undefined ? undefined : instant(schedule.lastScheduleTime)],
    ['last run', schedule.lastScheduleRunId],
    ['created', instant(schedule.createdAt)],
    ['labels', schedule.labels.length > 0 ? schedule.labels.join(', ') : undefined],
    ['flow key', schedule.flowControlKey],
    ['body', schedule.body],
  ];
  for (const [name, value] of fields) {
    if (value !== undefined) screen.write(`${styled(screen, 'dim', name.padEnd(10))}${printable(value)}\n`);
  }
}

/** Returns a command that takes the id of a schedule and prints the schedule. */
function scheduleCommand(shell: Shell, name: 'get' | 'pause' | 'resume', description: string): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name)).description(description).argument('<scheduleId>', 'id of the schedule');
  return command.action(async (scheduleId: string) => {
    const { client, options } = await openClient(command, shell);
    const schedule = await client.schedules[name](scheduleId);
    if (options.json) screen.write(json(schedule));
    else showSchedule(screen, schedule);
  });
}

interface ChangeOptions extends ClientOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly body?: string;
  readonly retries?: number;
  readonly label?: readonly string[];
}

function changeCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('change'))
    .description('Change fields of a schedule. Omitted fields do not change.')
    .argument('<scheduleId>', 'id of the schedule')
    .option('--cron <expression>', 'cron expression with five fields, or six with leading seconds')
    .option('--timezone <name>', 'IANA time zone of the expression, such as Europe/Berlin')
    .option('--body <text>', 'new payload of the runs: text, @file, or - for standard input')
    .option('--retries <number>', 'retries of each step', wholeNumber('--retries', 0))
    .option('--label <label>', 'label of the runs; may be repeated, and replaces all labels', (label, labels: string[] = []) => [
      ...labels,
      label,
    ]);
  return command.action(async (scheduleId: string) => {
    const { client, options } = await openClient<ChangeOptions>(command, shell);
    const { cron, timezone, retries, label } = options;
    const body = options.body === undefined ? undefined : await readTextBody('the body of a schedule', options.body);
    const change = {
      ...(cron === undefined ? {} : { cron }),
      ...(timezone === undefined ? {} : { timezone }),
      ...(body === undefined ? {} : { body }),
      ...(retries === undefined ? {} : { retries }),
      ...(label === undefined ? {} : { labels: [...label] }),
    };
    if (Object.keys(change).length === 0)
      throw new UsageError('Give at least one change: --cron, --timezone, --body, --retries or --label.');
    const schedule = await client.schedules.change(scheduleId, change);
    if (options.json) screen.write(json(schedule));
    else showSchedule(screen, schedule);
  });
}

interface NextOptions extends ClientOptions {
  readonly count?: number;
}

function nextCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('next'))
    .description('Show the next run times of a schedule, even if it is paused.')
    .argument('<scheduleId>', 'id of the schedule')
    .option('--count <number>', 'number of times, up to 50 (default: 10)', wholeNumber('--count', 1));
  return command.action(async (scheduleId: string) => {
    const { client, options } = await openClient<NextOptions>(command, shell);
    const runTimes = await client.schedules.next(scheduleId, { count: options.count });
    if (options.json) return screen.write(json({ fires: runTimes }));
    screen.write(runTimes.length === 0 ? 'No more run times.\n' : runTimes.map((runTime) => `${instant(runTime)}\n`).join(''));
  });
}

function runCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('run'))
    .description('Start a run of the schedule now, even if it is paused, and print the run id.')
    .argument('<scheduleId>', 'id of the schedule');
  return command.action(async (scheduleId: string) => {
    const { client, options } = await openClient(command, shell);
    const run = await client.schedules.run(scheduleId);
    screen.write(options.json ? json(run) : `${run.workflowRunId}\n`);
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('delete'))
    .description('Delete a schedule. Runs it started continue.')
    .argument('<scheduleId>', 'id of the schedule');
  return command.action(async (scheduleId: string) => {
    const { client, options } = await openClient(command, shell);
    await client.schedules.delete(scheduleId);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

export function schedulesCommand(shell: Shell): Command {
  return new Command('schedules')
    .description('Manage schedules that start runs.')
    .addCommand(createCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(scheduleCommand(shell, 'get', 'Show a schedule.'))
    .addCommand(changeCommand(shell))
    .addCommand(nextCommand(shell))
    .addCommand(runCommand(shell))
    .addCommand(scheduleCommand(shell, 'pause', 'Pause a schedule until it is resumed.'))
    .addCommand(scheduleCommand(shell, 'resume', 'Resume a paused schedule at its next regular time.'))
    .addCommand(deleteCommand(shell));
}
