/** What an operator does with a user, and what is said before it. */
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
  readonly danger?: true;
  /** Whether it can be done with this user. */
  readonly fits: (user: UserEntry) => boolean;
  /** What will happen. */
  readonly effect: string;
  readonly call: (user: UserEntry) => Pick<Change, 'method' | 'url'>;
}

const always = (): boolean => true;

export const USER_ACTIONS: readonly UserAction[] = [
  {
    ...{ id: 'disable', text: 'Disable', danger: true },
    fits: ({ disabled_time: at }) => at === undefined,
    effect: 'The user cannot log in, and its sessions end at once. Memberships and API keys stay.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/disable` }),
  },
  {
    ...{ id: 'enable', text: 'Enable' },
    fits: ({ disabled_time: at }) => at !== undefined,
    effect: 'The user can log in again.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/enable` }),
  },
  {
    ...{ id: 'revoke-keys', text: 'Revoke API keys', danger: true, fits: always },
    effect: 'All API keys of the user are revoked, and its sessions end. A recovery link gives it a new key.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/apikeys` }),
  },
  {
    ...{ id: 'end-sessions', text: 'End sessions', danger: true, fits: always },
    effect: 'The user is logged out in all browsers. API keys stay valid.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/sessions` }),
  },
  {
    ...{ id: 'grant-operator', text: 'Make operator' },
    fits: ({ is_operator: is, disabled_time: at }) => !is && at === undefined,
    effect: 'Operators set plans and manage all users. To hand over, make another user operator, then end your own role.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/operator` }),
  },
  {
    ...{ id: 'revoke-operator', text: 'End operator role', danger: true },
    fits: ({ is_operator: is }) => is,
    effect: 'The user is not an operator any more. One operator who is not disabled always stays.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}/operator` }),
  },
  {
    ...{ id: 'recover', text: 'Recovery link' },
    fits: ({ disabled_time: at }) => at === undefined,
    effect: 'The link creates one API key for the user. It works once, for a day, and replaces an earlier link.',
    call: ({ id }) => ({ method: 'POST', url: path`/v2/users/${id}/recovery` }),
  },
  {
    ...{ id: 'delete', text: 'Delete', danger: true, fits: always },
    effect: 'Its API keys, sessions and memberships are deleted. It must own no queue instance and no search index.',
    call: ({ id }) => ({ method: 'DELETE', url: path`/v2/users/${id}` }),
  },
];
