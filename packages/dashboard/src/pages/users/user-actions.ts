/** Actions of an operator on a user, with the texts of their confirmations. */
import type { UserEntry } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import type { Change } from '../../api/queries.js';

export interface UserAction {
  readonly id:
    | 'disable'
    | 'enable'
    | 'revoke-keys'
    | 'end-sessions'
    | 'grant-operator'
    | 'revoke-operator'
    | 'recover'
    | 'delete';
  readonly text: string;
  /** Start of the notification on success. The email of the user follows. */
  readonly successText: string;
  readonly danger?: true;
  /** Whether the action applies to the user. */
  readonly applies: (user: UserEntry) => boolean;
  /** What will happen and whether it can be undone. */
  readonly effect: string;
  readonly call: (user: UserEntry) => Pick<Change, 'method' | 'url'>;
}

const appliesToAll = (): boolean => true;

export const USER_ACTIONS: readonly UserAction[] = [
  {
    ...{ id: 'disable', text: 'Disable', successText: 'Disabled', danger: true },
    applies: ({ disabled_time: at }) => at === undefined,
    effect:
      'The user is signed out immediately and can no longer sign in. The recovery link of the user and pending invitations by the user are deleted. Memberships and API keys are retained. You can enable the user again.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/disable` }),
  },
  {
    ...{ id: 'enable', text: 'Enable', successText: 'Enabled' },
    applies: ({ disabled_time: at }) => at !== undefined,
    effect: 'The user can sign in again. You can disable the user again at any time.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/enable` }),
  },
  {
    ...{
      id: 'revoke-keys',
      text: 'Revoke API keys',
      successText: 'Revoked the API keys of',
      danger: true,
      applies: appliesToAll,
    },
    effect:
      'Revokes all API keys of the user, ends all sessions, and deletes the recovery link of the user and pending invitations by the user. This cannot be undone. To give the user a new key, then create a recovery link.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/apikeys` }),
  },
  {
    ...{ id: 'end-sessions', text: 'End sessions', successText: 'Ended the sessions of', danger: true, applies: appliesToAll },
    effect: 'Signs the user out of all browsers. This cannot be undone, but the user can sign in again. API keys remain valid.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/sessions` }),
  },
  {
    ...{ id: 'grant-operator', text: 'Make operator', successText: 'Granted the operator role to' },
    applies: ({ is_operator: isOperator, disabled_time: at }) => !isOperator && at === undefined,
    effect:
      'Operators set plans and manage all users. You can revoke the role at any time. To hand over, make another user an operator, then revoke your own role.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/operator` }),
  },
  {
    ...{ id: 'revoke-operator', text: 'Revoke operator role', successText: 'Revoked the operator role of', danger: true },
    applies: ({ is_operator: isOperator }) => isOperator,
    effect: 'The user is no longer an operator. You can grant the role again. At least one enabled operator must remain.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/operator` }),
  },
  {
    ...{ id: 'recover', text: 'Create recovery link', successText: 'Created a recovery link for' },
    applies: ({ disabled_time: at }) => at === undefined,
    effect: 'The link creates one API key for the user. It can be used once, expires in a day, and replaces any earlier link.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/recovery` }),
  },
  {
    ...{ id: 'delete', text: 'Delete', successText: 'Deleted', danger: true, applies: appliesToAll },
    effect:
      'Deletes the user with all API keys, sessions and memberships. This cannot be undone. A user who owns a queue instance or a search index cannot be deleted.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}` }),
  },
];
