/** Lists the users of the installation for operators, with actions on each user. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useMemo, useState } from 'react';
import type { RecoveryLink, UserEntry, UserPage } from '../../../../everstep/src/contract/management.js';
import { request } from '../../api/client.js';
import { type ApiFailure, valueIn } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { sessionQuery, useSession } from '../../api/session.js';
import { CopyId } from '../../components/copy-id.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { Icon } from '../../components/icons.js';
import { MenuButton } from '../../components/menus/menu-button.js';
import { PageTitle } from '../../components/page-title.js';
import { ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { USER_ACTIONS, type UserAction } from './user-actions.js';

const PAGE_SIZE = 100;
const QUERY_KEY = ['account', 'users'] as const;

interface PendingAction {
  readonly action: UserAction;
  readonly user: UserEntry;
}

const stateBadge = ({ disabled_time: disabled, is_operator: isOperator }: UserEntry) => {
  if (disabled !== undefined) return <StatusBadge tone="warn">Disabled</StatusBadge>;
  return isOperator ? <StatusBadge tone="info">Operator</StatusBadge> : <StatusBadge tone="good">Active</StatusBadge>;
};

export default function UsersPage() {
  const { is_operator: isOperator } = useSession();
  const [pending, setPending] = useState<PendingAction | null>(null);
  const [link, setLink] = useState<{ readonly user: UserEntry; readonly secret: string } | null>(null);
  const pages = useInfiniteQuery<UserPage, ApiFailure, { pages: UserPage[] }, readonly string[], string>({
    queryKey: QUERY_KEY,
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) =>
      valueIn(await request<UserPage>('/v2/users', { query: { count: PAGE_SIZE, cursor: pageParam }, signal })),
    getNextPageParam: ({ cursor }) => (cursor === '' ? undefined : cursor),
    refetchOnMount: 'always',
    enabled: isOperator,
  });
  const rows = useMemo(() => pages.data?.pages.flatMap(({ users }) => users) ?? [], [pages.data]);
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
  };
  const retry = () => void (pages.isFetchNextPageError ? pages.fetchNextPage() : pages.refetch());
  const columns: readonly Column<UserEntry>[] = [
    { id: 'state', header: 'State', width: '120px', cell: stateBadge },
    {
      id: 'email',
      header: 'Email',
      sortBy: ({ email }) => email,
      width: 'minmax(0, 3fr)',
      cell: ({ email }) => (
        <div className="clip" title={email}>
          {email}
        </div>
      ),
    },
    {
      id: 'id',
      header: 'ID',
      width: 'minmax(0, 2fr)',
      shownFrom: 'full',
      cell: ({ id }) => <CopyId value={id} valueName="user id" />,
    },
    {
      id: 'created',
      header: 'Created',
      sortBy: ({ creation_time: at }) => at,
      width: '118px',
      shownFrom: 'medium',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '92px',
      align: 'right',
      cell: (user) => <UserMenu user={user} onSelect={(action) => setPending({ action, user })} />,
    },
  ];
  return (
    <>
      <PageTitle title="Users" lead="All users of this installation. Users are created by team invitations or single sign-on." />
      {!isOperator ? (
        <p className="muted">Only operators of this installation can see its users.</p>
      ) : pages.isPending ? (
        <Skeleton lines={6} />
      ) : pages.error && rows.length === 0 ? (
        <ErrorState failure={pages.error} onRetry={() => void pages.refetch()} subject="users" />
      ) : (
        <DataTable
          label="Users"
          columns={columns}
          rows={rows}
          idOf={({ id }) => id}
          hasAllRows={!pages.hasNextPage}
          // A failed page is not requested again until the user retries.
          {...(pages.error === null ? { onEnd: loadMore } : {})}
          footer={
            <>
              <span>{quantity(rows.length, 'user')} shown</span>
              {pages.error === null ? null : <FailureNotice failure={pages.error} onRetry={retry} />}
            </>
          }
        />
      )}
      {pending === null ? null : (
        <UserActionDialog
          pending={pending}
          onClose={() => setPending(null)}
          onLink={(secret) => setLink({ user: pending.user, secret })}
        />
      )}
      {link === null ? null : (
        <DialogWindow
          title={`Recovery link for ${link.user.email}`}
          open
          onClose={() => setLink(null)}
          actions={<DialogClose>Done</DialogClose>}
        >
          <div className="stack">
            <p>Send this link only to {link.user.email}. It is shown only once, can be used once, and expires in a day.</p>
            {/* The fragment after # is never sent to a server, so the secret appears in no access log. */}
            <CopyId value={`${window.location.origin}/login#${link.secret}`} valueName="recovery link" />
          </div>
        </DialogWindow>
      )}
    </>
  );
}

interface UserMenuProps {
  readonly user: UserEntry;
  readonly onSelect: (action: UserAction) => void;
}

function UserMenu({ user, onSelect }: UserMenuProps) {
  return (
    <MenuButton
      className="button button-small"
      label={`Actions for ${user.email}`}
      sections={[
        {
          entries: USER_ACTIONS.filter(({ applies }) => applies(user)).map((action) => ({
            text: action.text,
            onSelect: () => onSelect(action),
          })),
        },
      ]}
    >
      <Icon name="more" />
    </MenuButton>
  );
}

interface UserActionDialogProps {
  readonly pending: PendingAction;
  readonly onClose: () => void;
  readonly onLink: (secret: string) => void;
}

function UserActionDialog({ pending: { action, user }, onClose, onLink }: UserActionDialogProps) {
  const { user: ownUser } = useSession();
  const fieldId = useId();
  const [typedEmail, setTypedEmail] = useState('');
  const change = useChange();
  const client = useQueryClient();
  const needsTypedEmail = action.id === 'delete';
  return (
    <ConfirmDialog
      title={`${action.text}: ${user.email}`}
      open
      onClose={onClose}
      confirmText={action.id === 'recover' ? 'Create link' : action.text}
      danger={action.danger ?? false}
      disabled={needsTypedEmail && typedEmail.trim() !== user.email}
      onConfirm={async () => {
        const isLink = action.id === 'recover';
        const outcome = await change<RecoveryLink | string>({
          ...action.call(user),
          topics: ['account'],
          isManagementCall: true,
          ...(isLink ? {} : { successText: `${action.successText} ${user.email}` }),
        });
        void client.invalidateQueries({ queryKey: QUERY_KEY });
        if (user.id === ownUser.id) void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
        if (isLink && outcome.ok && typeof outcome.value === 'object') onLink(outcome.value.recovery_secret);
        return outcome;
      }}
    >
      <p>{action.effect}</p>
      {needsTypedEmail ? (
        <div className="field">
          <label className="field-label" htmlFor={fieldId}>
            Type the user's email to confirm
          </label>
          <input
            id={fieldId}
            className="input"
            autoComplete="off"
            value={typedEmail}
            onChange={(event) => setTypedEmail(event.target.value)}
          />
        </div>
      ) : null}
    </ConfirmDialog>
  );
}
