/** Lists the user's browser sessions and ends one or all others. */
import { useState } from 'react';
import type { OwnSession } from '../../../../everstep/src/contract/session.js';
import { path } from '../../api/client.js';
import type { Outcome } from '../../api/outcome.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Loaded } from '../../components/loading/loaded.js';
import { StatusBadge } from '../../components/status-badge.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const CURRENT_SESSION_REASON = 'This is your current session; sign out to end it';

export function Sessions() {
  const [isConfirming, setIsConfirming] = useState(false);
  const change = useChange();
  const sessions = useApi<readonly OwnSession[]>({
    topic: 'account',
    name: 'sessions',
    url: '/v2/sessions',
  });
  const otherSessions = sessions.data?.filter(({ current }) => !current) ?? [];
  const endSession = ({ id }: OwnSession, options: { readonly successText?: string; readonly showFailure?: boolean } = {}) =>
    change({ method: 'DELETE', url: path`/v2/sessions/${id}`, topics: ['account'], isManagementCall: true, ...options });
  const endOtherSessions = async (): Promise<Outcome<unknown>> => {
    let outcome: Outcome<unknown> = { ok: true, value: null };
    for (const session of otherSessions) {
      const endOutcome = await endSession(session);
      // 404: the session has already ended.
      if (!endOutcome.ok && endOutcome.failure.status !== 404) outcome = endOutcome;
    }
    return outcome;
  };
  const columns: readonly Column<OwnSession>[] = [
    {
      id: 'browser',
      header: 'Browser',
      width: '128px',
      cell: ({ current }) =>
        current ? <StatusBadge tone="good">This browser</StatusBadge> : <StatusBadge tone="quiet">Other browser</StatusBadge>,
    },
    {
      id: 'method',
      header: 'Sign-in method',
      width: 'minmax(0, 3fr)',
      cell: ({ api_key_id: key }) => <div className="clip">{key === undefined ? 'SSO' : `API key ${key}`}</div>,
    },
    {
      id: 'since',
      header: 'Signed in',
      width: '118px',
      stackUnder: 'method',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'until',
      header: 'Expires if unused',
      width: '140px',
      shownFrom: 'medium',
      cell: ({ expires_at: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '112px',
      align: 'right',
      cell: (session) => (
        <ActionButton
          variant="danger"
          small
          disabledReason={session.current ? CURRENT_SESSION_REASON : undefined}
          aria-label={`End session ${session.id}`}
          onClick={() => void endSession(session, { successText: 'Ended the session', showFailure: true })}
        >
          End session
        </ActionButton>
      ),
    },
  ];
  return (
    <Card
      title="Your sessions"
      flush
      actions={
        <ActionButton
          variant="danger"
          small
          disabledReason={otherSessions.length === 0 ? 'You have no other sessions' : undefined}
          onClick={() => setIsConfirming(true)}
        >
          End all other sessions
        </ActionButton>
      }
    >
      <Loaded query={sessions} lines={2} flush>
        {(rows) => <DataTable label="Your sessions" columns={columns} rows={rows} idOf={({ id }) => id} />}
      </Loaded>
      <ConfirmDialog
        title="End all other sessions?"
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        confirmText={`End ${quantity(otherSessions.length, 'session')}`}
        danger
        onConfirm={endOtherSessions}
      >
        <p>
          {quantity(otherSessions.length, 'other session ends', 'other sessions end')} immediately. This cannot be undone, but you
          can sign in again. API keys remain valid.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
