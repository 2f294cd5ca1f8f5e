/** Wire schemas of sessions, with which the dashboard works. Of the management API: snake_case, times in Unix seconds. */
import Type, { type Static } from 'typebox';
import { Email } from './management.js';

const CLOSED = { additionalProperties: false } as const;

export const SessionEntry = Type.Object(
  {
    user: Type.Object({ id: Type.String(), email: Type.String() }, CLOSED),
    is_operator: Type.Boolean({ description: 'Whether the user is the operator of the installation, who sets plans.' }),
    csrf_token: Type.String({
      description: 'To be sent as x-everstep-csrf with every request of the session that is not GET or HEAD.',
    }),
    logout_url: Type.Optional(
      Type.String({ description: 'Where the user signs out of the identity provider too. Only of sessions that began there.' }),
    ),
    expires_at: Type.Integer({
      format: 'int64',
      description: 'When it ends unless it is used before, Unix seconds. Use moves it on, to seven days after the login at most.',
    }),
  },
  {
    ...CLOSED,
    description:
      'The cookie everstep_session comes with the login (over https: __Host-everstep_session), and no script can read it.',
  },
);
export type SessionEntry = Static<typeof SessionEntry>;

export const LoginBody = Type.Object(
  {
    email: Email('Of the user.'),
    api_key: Type.String({ minLength: 1, maxLength: 256, description: 'A good API key of the user.' }),
  },
  CLOSED,
);
export type LoginBody = Static<typeof LoginBody>;

export const OwnSession = Type.Object(
  {
    id: Type.String(),
    api_key_id: Type.Optional(
      Type.String({
        description:
          'Id of the API key with which it began. It ends when that is revoked. Absent: it began with the identity provider.',
      }),
    ),
    creation_time: Type.Integer({ format: 'int64', description: 'Unix seconds' }),
    expires_at: Type.Integer({ format: 'int64', description: 'When it ends unless it is used before, Unix seconds.' }),
    current: Type.Boolean({ description: 'Whether the request was made with this session.' }),
  },
  CLOSED,
);
export type OwnSession = Static<typeof OwnSession>;

export const EndedSessions = Type.Object({ ended: Type.Integer({ description: 'How many sessions ended.' }) }, CLOSED);
export type EndedSessions = Static<typeof EndedSessions>;
