/** Sessions of the user in browsers: list, end one, end all others. */
import { useState } from 'react';
import type { OwnSession } from '../../../../everstep/src/contract/session.js';
import { path } from '../../api/client.js';
import type { Outcome } from '../../api/outcome.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { type Column, DataTable } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';

const CURRENT = 'This is the session that you use; log out to end it';

export function Sessions() {
  const [asked, setAsked] = useState(false);
  const change = useChange();
  const { data, error, isPending, refetch } = useApi<readonly OwnSession[]>({
    topic: 'account',
    name: 'sessions',
    url: '/v2/sessions',
  });
  const others = data?.filter(({ current }) => !current) ?? [];
  const end = ({ id }: OwnSession, more: { readonly done?: string; readonly tellFailure?: boolean } = {}) =>
    change({ method: 'DELETE', url: path`/v2/sessions/${id}`, topics: ['account'], account: true, ...more });
  const endOthers = async (): Promise<Outcome<unknown>> => {
    let outcome: Outcome<unknown> = { ok: true, value: null };
    for (const session of others) {
      const ended = await end(session);
      // One that has ended meanwhile is what was wanted.
      if (!ended.ok && ended.failure.status !== 404) outcome = ended;
    }
    return outcome;
  };
  const columns: readonly Column<OwnSession>[] = [
    {
      id: 'state',
      header: 'State',
      width: '128px',
      cell: ({ current }) =>
        current ? <StatusBadge tone="good">This browser</StatusBadge> : <StatusBadge tone="quiet">Other</StatusBadge>,
    },
    {
      id: 'way',
      header: 'Logged in with',
      width: 'minmax(0, 3fr)',
      cell: ({ api_key_id: key }) => <div className="clip">{key === undefined ? 'SSO' : `API key ${key}`}</div>,
    },
    {
      id: 'since',
      header: 'Since',
      width: '118px',
      under: 'way',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'until',
      header: 'Ends unless used',
      width: '140px',
      from: 'medium',
      cell: ({ expires_at: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'end',
      header: 'End',
      width: '92px',
      align: 'right',
      cell: (session) => (
        <DeedButton
          look="danger"
          small
          off={session.current ? CURRENT : undefined}
          aria-label={`End the session ${session.id}`}
          onClick={() => void end(session, { done: 'The session has ended', tellFailure: true })}
        >
          End
        </DeedButton>
      ),
    },
  ];
  return (
    <Card
      title="Your sessions"
      flush
      actions={
        <DeedButton
          look="danger"
          small
          off={others.length === 0 ? 'You have no other session' : undefined}
          onClick={() => setAsked(true)}
        >
          End all others
        </DeedButton>
      }
    >
      {isPending ? (
        <div className="card-body">
          <Skeleton lines={2} />
        </div>
      ) : error && !data ? (
        <div className="card-body">
          <FailureNotice failure={error} onRetry={() => void refetch()} />
        </div>
      ) : (
        <DataTable label="Your sessions" columns={columns} rows={data ?? []} idOf={({ id }) => id} />
      )}
      <ConfirmDialog
        title="End all other sessions"
        open={asked}
        onClose={() => setAsked(false)}
        confirmText="End them"
        danger
        onConfirm={endOthers}
      >
        <p>{others.length} other browsers are logged out. API keys stay valid.</p>
      </ConfirmDialog>
    </Card>
  );
}
