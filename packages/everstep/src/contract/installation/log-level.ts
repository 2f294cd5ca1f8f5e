/** Wire schemas of the log level of a server. */
import Type, { type Static } from 'typebox';
import { LOG_LEVELS } from '../../config/log-levels.js';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';

export const LogLevelName = Type.Enum([...LOG_LEVELS], { type: 'string', description: 'Lowest level that is logged.' });

export const LogLevelEntry = Type.Object(
  {
    level: LogLevelName,
    configured_level: Type.Enum([...LOG_LEVELS], {
      type: 'string',
      description: 'Configured level, which applies again after a restart.',
    }),
    node_id: Type.String({ description: 'Node that responded. Other nodes have their own level.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Log level of one server.' },
);
export type LogLevelEntry = Static<typeof LogLevelEntry>;
