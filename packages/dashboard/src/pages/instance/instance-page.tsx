/** Page of the queue instance: owner, plan, tokens, signing keys, usage, budget and retention. */
import { useState } from 'react';
import type { InstanceRecord } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { useSession } from '../../api/session.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList, type DescriptionListProps } from '../../components/description-list.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { bytesText, countText, durationText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { SigningKeysCard, TokensCard } from './access.js';
import { BudgetCard } from './budget.js';
import { dollarText } from './day-chart.js';
import { DeleteInstanceDialog } from './delete-instance-dialog.js';
import { CreateInstanceDialog, MoveInstanceDialog, PlanDialog } from './instance-dialogs.js';
import { NamedTokens } from './named-tokens.js';
import { SettingsCard } from './settings.js';
import './instance.css';

const NO_LIMIT = 'no limit';
const limitText = (value: number | null, format: (value: number) => string): string =>
  value === null ? NO_LIMIT : format(value);

const planFacts = ({ limits }: InstanceRecord): DescriptionListProps['items'] => [
  ['Message size', limitText(limits.max_message_bytes, bytesText)],
  ['Deliveries in flight', limitText(limits.max_parallelism, countText)],
  ['Schedules', limitText(limits.max_schedules, countText)],
  ['Runs per day', limitText(limits.max_requests_per_day, countText)],
  ['Account storage', limitText(limits.max_stored_bytes, bytesText)],
  ['Active runs in the account', limitText(limits.max_active_runs, countText)],
  ['API calls per second', limitText(limits.api_calls_per_second, countText)],
  ['Delivery timeout', limitText(limits.max_timeout_ms, durationText)],
  ['Log retention', limitText(limits.log_retention_ms, durationText)],
  ['Dead letter retention', limitText(limits.dead_letter_retention_ms, durationText)],
  ['Price per 100,000 messages', dollarText(limits.price_per_100k_messages)],
];

type OpenDialog = 'create' | 'move' | 'plan' | 'delete';

export default function InstancePage() {
  const instanceId = useInstanceId();
  const { canAdminister } = usePermissions();
  const { is_operator: isOperator } = useSession();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const instance = useApi<InstanceRecord>({
    topic: 'account',
    name: 'instance',
    url: path`/v2/queue/user/${instanceId}`,
  });
  const { data } = instance;
  if (data === undefined)
    return (
      <>
        <PageTitle title="Instance" />
        <NotLoaded query={instance} lines={10} subject="this instance" />
      </>
    );
  const id = <CopyId value={data.id} valueName="instance id" />;
  const owner = <CopyId value={data.customer_id} valueName="account id" />;
  const creationTime = <TimeText unixMs={data.creation_time * 1000} />;
  return (
    <>
      <PageTitle
        title="Instance"
        actions={
          <button type="button" className="button" onClick={() => setDialog('create')}>
            New instance
          </button>
        }
      />
      <div className="instance-cards">
        <Card
          title={data.name}
          actions={
            <>
              <ActionButton
                small
                disabledReason={canAdminister ? undefined : 'Only owners and admins can move an instance'}
                onClick={() => setDialog('move')}
              >
                Move to team
              </ActionButton>
              <ActionButton
                variant="danger"
                small
                disabledReason={canAdminister ? undefined : 'Only owners and admins can delete an instance'}
                onClick={() => setDialog('delete')}
              >
                Delete instance
              </ActionButton>
            </>
          }
        >
          <DescriptionList
            items={[
              ['ID', id],
              ['Owner account', owner],
              ['Your role', data.role],
              ['Region', data.region],
              ['Created', creationTime],
            ]}
          />
        </Card>
        <Card
          title={`Plan: ${data.plan}`}
          actions={
            <ActionButton
              small
              disabledReason={isOperator ? undefined : 'Only operators of this installation can change plans'}
              onClick={() => setDialog('plan')}
            >
              Change plan
            </ActionButton>
          }
        >
          <DescriptionList items={planFacts(data)} />
        </Card>
        <TokensCard instance={data} />
        <SigningKeysCard />
        <div className="instance-wide">
          <NamedTokens />
        </div>
        <div className="instance-wide">
          <BudgetCard instance={data} />
        </div>
        <div className="instance-wide">
          <SettingsCard />
        </div>
      </div>
      {dialog === 'create' ? <CreateInstanceDialog region={data.region} onClose={close} /> : null}
      {dialog === 'move' ? <MoveInstanceDialog instance={data} onClose={close} /> : null}
      {dialog === 'delete' ? <DeleteInstanceDialog instance={data} onClose={close} /> : null}
      {dialog === 'plan' ? <PlanDialog instance={data} onClose={close} /> : null}
    </>
  );
}
