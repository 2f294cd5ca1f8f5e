/** Teams and their members: the operations at `/v2/team` and `/v2/teams`. */

import Type from 'typebox';
import { AccountName, Email, Ok, RecordId, TeamEntry, TeamMember } from '../../contract/management.js';
import { OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, answer, type Operation } from '../operation.js';
import { BODY_ERRORS, CHANGE_ERRORS, done, given, jsonBody, NOT_CACHED, OK } from './outcome.js';
import { presentInvitation, presentMember, presentTeam } from './presenters.js';

const TAG = 'Teams';
const teamId = RecordId('Id of the team.');
const memberEmail = Email('E-mail of the user; upper and lower case are the same.');

const listTeams = accountOperation({
  operationId: 'listTeams',
  tag: TAG,
  summary: 'List the teams that the user is a member of',
  method: 'GET',
  path: '/v2/teams',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(TeamEntry) },
  errors: [],
  handle: async (_input, { accounts }, principal) => answer(200, (await accounts.listTeams(principal)).map(presentTeam)),
});

const createTeam = accountOperation({
  operationId: 'createTeam',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Create a team',
  description: 'The user becomes its owner.',
  method: 'POST',
  path: '/v2/team',
  unknownQuery: 'refuse',
  body: jsonBody({ team_name: AccountName('For people.') }),
  responses: { 200: TeamEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const team = done(await accounts.createTeam(principal, given(body).team_name));
    return answer(200, presentTeam({ ...team, role: 'owner' }));
  },
});

const deleteTeam = accountOperation({
  operationId: 'deleteTeam',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Delete a team',
  description: 'It must own nothing any more: move or delete its queue instances and search indexes first.',
  method: 'DELETE',
  path: '/v2/team/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: teamId }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    done(await accounts.deleteTeam(principal, path.id));
    return OK;
  },
});

const listMembers = accountOperation({
  operationId: 'listTeamMembers',
  tag: TAG,
  summary: 'List the members of a team',
  method: 'GET',
  path: '/v2/teams/{team_id}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ team_id: teamId }),
  responses: { 200: Type.Array(TeamMember) },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const members = done(await accounts.listMembers(principal, path.team_id));
    return answer(200, members.map(presentMember));
  },
});

const putMember = accountOperation({
  operationId: 'putTeamMember',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Invite somebody to a team, or give a member another role',
  description:
    'An e-mail that is not a member is invited: the answer has status invited and an invitation_secret, once, which you pass on. It is the same whether a user has the e-mail or not. Another invitation of the same e-mail replaces the first.',
  method: 'POST',
  path: '/v2/teams/member',
  unknownQuery: 'refuse',
  body: jsonBody({
    team_id: teamId,
    member_email: memberEmail,
    member_role: Type.Enum(['admin', 'dev', 'finance'], {
      type: 'string',
      description: 'admin does what the owner does, dev uses and changes what the team owns, finance sees it and pays.',
    }),
  }),
  responses: { 200: TeamMember },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { team_id, member_email: email, member_role: role } = given(body);
    const put = done(await accounts.putMember(principal, { teamId: team_id, email, role }));
    if (put.kind === 'member') return answer(200, presentMember(put.member));
    return answer(200, presentInvitation(put.invitation, put.secret), NOT_CACHED);
  },
});

const removeMember = accountOperation({
  operationId: 'removeTeamMember',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Remove a member from a team',
  description: 'Every member may leave; to remove others takes the right to manage members.',
  method: 'DELETE',
  path: '/v2/teams/member',
  unknownQuery: 'refuse',
  body: jsonBody({ team_id: teamId, member_email: memberEmail }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { team_id, member_email: email } = given(body);
    done(await accounts.removeMember(principal, { teamId: team_id, email }));
    return OK;
  },
});

export const teamOperations: readonly Operation[] = [listTeams, createTeam, deleteTeam, listMembers, putMember, removeMember];
