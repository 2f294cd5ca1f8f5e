/** `everstep admin sessions list|end|end-all` */
import { Command } from 'commander';
import { instant, json, type Shell, table } from '../../output.js';
import { openAdmin, withAdminConnection } from './admin-connection.js';

const MS_PER_SECOND = 1_000;

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List your browser sessions, newest first.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const sessions = await admin.sessions.list();
    if (options.json) return screen.write(json(sessions));
    if (sessions.length === 0) return screen.write('No sessions.\n');
    const timeText = (seconds: number): string => instant(seconds * MS_PER_SECOND);
    const rows = sessions.map(({ id, api_key_id, creation_time, expires_at }) => [
      id,
      api_key_id ?? 'sso',
      timeText(creation_time),
      timeText(expires_at),
    ]);
    screen.write(table(screen, ['SESSION', 'KEY', 'SIGNED IN (UTC)', 'ENDS (UTC)'], rows));
  });
}

function endCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('end'))
    .description('End a session and sign out its browser.')
    .argument('<sessionId>', 'id of the session');
  return command.action(async (sessionId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.sessions.end(sessionId);
    screen.write(options.json ? json({ ended: 1 }) : '1 ended\n');
  });
}

function endAllCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('end-all')).description('End all your browser sessions. API keys stay valid.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const endedCount = await admin.sessions.endAll();
    screen.write(options.json ? json({ ended: endedCount }) : `${endedCount} ended\n`);
  });
}

export function sessionsCommand(shell: Shell): Command {
  return new Command('sessions')
    .description('Manage your browser sessions.')
    .addCommand(listCommand(shell))
    .addCommand(endCommand(shell))
    .addCommand(endAllCommand(shell));
}
