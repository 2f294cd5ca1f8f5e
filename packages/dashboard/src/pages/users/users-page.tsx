/** Users of the installation, for operators: who they are, who is an operator, and what can be done with each. */
import { Menu } from '@base-ui/react/menu';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useMemo, useState } from 'react';
import type { RecoveryLink, UserEntry, UserPage } from '../../../../everstep/src/contract/management.js';
import { request } from '../../api/client.js';
import { type ApiFailure, valueIn } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { sessionQuery, useSession } from '../../api/session.js';
import { CopyId } from '../../components/copy-id.js';
import { type Column, DataTable } from '../../components/data-table.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { countText } from '../../components/formats.js';
import { Icon } from '../../components/icons.js';
import { PageTitle } from '../../components/page-title.js';
import { ErrorState, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';
import { USER_ACTIONS, type UserAction } from './user-actions.js';

const PAGE = 100;
const KEY = ['account', 'users'] as const;

interface Asked {
  readonly action: UserAction;
  readonly user: UserEntry;
}

const stateOf = ({ disabled_time: disabled, is_operator: isOperator }: UserEntry) => {
  if (disabled !== undefined) return <StatusBadge tone="warn">Disabled</StatusBadge>;
  return isOperator ? <StatusBadge tone="info">Operator</StatusBadge> : <StatusBadge tone="good">Active</StatusBadge>;
};

export default function UsersPage() {
  const { is_operator: isOperator } = useSession();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [link, setLink] = useState<{ readonly user: UserEntry; readonly secret: string } | null>(null);
  const pages = useInfiniteQuery<UserPage, ApiFailure, { pages: UserPage[] }, readonly string[], string>({
    queryKey: KEY,
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) =>
      valueIn(await request<UserPage>('/v2/users', { query: { count: PAGE, cursor: pageParam }, signal })),
    getNextPageParam: ({ cursor }) => (cursor === '' ? undefined : cursor),
    refetchOnMount: 'always',
    enabled: isOperator,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ users }) => users) ?? [], [pages.data]);
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
  };
  const columns: readonly Column<UserEntry>[] = [
    { id: 'state', header: 'State', width: '120px', cell: stateOf },
    {
      id: 'email',
      header: 'E-mail',
      width: 'minmax(0, 3fr)',
      cell: ({ email }) => (
        <div className="clip" title={email}>
          {email}
        </div>
      ),
    },
    { id: 'id', header: 'Id', width: 'minmax(0, 2fr)', from: 'wide', cell: ({ id }) => <CopyId value={id} what="user id" /> },
    {
      id: 'created',
      header: 'Created',
      width: '118px',
      from: 'medium',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Change',
      width: '92px',
      align: 'right',
      cell: (user) => <UserMenu user={user} onChoose={(action) => setAsked({ action, user })} />,
    },
  ];
  return (
    <>
      <PageTitle
        title="Users"
        lead="All users of this installation. New users come by invitations of teams, or by single sign-on."
      />
      {!isOperator ? (
        <p className="muted">Only operators of this installation see its users.</p>
      ) : pages.isPending ? (
        <Skeleton lines={6} />
      ) : pages.error && rows.length === 0 ? (
        <ErrorState failure={pages.error} onRetry={() => void pages.refetch()} what="The users" />
      ) : (
        <DataTable
          label="Users"
          columns={columns}
          rows={rows}
          idOf={({ id }) => id}
          onEnd={loadMore}
          foot={<span>{countText(rows.length)} users</span>}
        />
      )}
      {asked === null ? null : (
        <UserDialog asked={asked} onClose={() => setAsked(null)} onLink={(secret) => setLink({ user: asked.user, secret })} />
      )}
      {link === null ? null : (
        <DialogWindow
          title={`Recovery of ${link.user.email}`}
          open
          onClose={() => setLink(null)}
          actions={<DialogClose>Done</DialogClose>}
        >
          <div className="stack">
            <p>Send this link to {link.user.email} only. It is shown this once, works once, and expires in a day.</p>
            {/* Behind the #, so that it is sent to no server and is in no access log. */}
            <CopyId value={`${window.location.origin}/login#${link.secret}`} what="recovery link" />
          </div>
        </DialogWindow>
      )}
    </>
  );
}

interface UserMenuProps {
  readonly user: UserEntry;
  readonly onChoose: (action: UserAction) => void;
}

function UserMenu({ user, onChoose }: UserMenuProps) {
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-small" aria-label={`Change ${user.email}`}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="tooltip-place">
          <Menu.Popup className="popup">
            {USER_ACTIONS.filter(({ fits }) => fits(user)).map((action) => (
              <Menu.Item key={action.id} className="popup-item" onClick={() => onChoose(action)}>
                {action.text}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

interface UserDialogProps {
  readonly asked: Asked;
  readonly onClose: () => void;
  readonly onLink: (secret: string) => void;
}

function UserDialog({ asked: { action, user }, onClose, onLink }: UserDialogProps) {
  const { user: own } = useSession();
  const field = useId();
  const [typed, setTyped] = useState('');
  const change = useChange();
  const client = useQueryClient();
  const mustType = action.id === 'delete';
  return (
    <ConfirmDialog
      title={`${action.text}: ${user.email}`}
      open
      onClose={onClose}
      confirmText={action.id === 'recover' ? 'Create the link' : action.text}
      danger={action.danger ?? false}
      disabled={mustType && typed.trim() !== user.email}
      onConfirm={async () => {
        const isLink = action.id === 'recover';
        const outcome = await change<RecoveryLink | string>({
          ...action.call(user),
          topics: ['account'],
          account: true,
          ...(isLink ? {} : { done: `${user.email}: done` }),
        });
        void client.invalidateQueries({ queryKey: KEY });
        if (user.id === own.id) void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
        if (isLink && outcome.ok && typeof outcome.value === 'object') onLink(outcome.value.recovery_secret);
        return outcome;
      }}
    >
      <p>{action.effect}</p>
      {mustType ? (
        <div className="field">
          <label className="field-label" htmlFor={field}>
            Type the e-mail of the user to confirm
          </label>
          <input
            id={field}
            className="input"
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </div>
      ) : null}
    </ConfirmDialog>
  );
}
