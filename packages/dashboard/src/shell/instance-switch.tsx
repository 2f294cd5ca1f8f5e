/** Which queue instance the pages are about. The page stays the same when it is changed. */
import { Menu } from '@base-ui/react/menu';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { instancesQuery, useInstance, useQueueId } from '../api/instances.js';
import { Icon } from '../components/icons.js';

export function InstanceSwitch() {
  const queueId = useQueueId();
  const instance = useInstance();
  const { data: instances = [] } = useQuery(instancesQuery);
  const navigate = useNavigate();
  const choose = (id: string) => {
    // What a page shows of another instance is not what it showed of this one: begin at the page, without its filters.
    const [, , , feature = 'runs'] = window.location.pathname.split('/');
    void navigate({ to: `/q/${id}/${feature}` });
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="button instance-switch">
        <span className="clip">
          <span className="visually-hidden">Queue instance: </span>
          {instance?.name ?? queueId}
        </span>
        <Icon name="down" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="tooltip-place">
          <Menu.Popup className="popup">
            <Menu.RadioGroup value={queueId} onValueChange={(id: string) => choose(id)}>
              {instances.map(({ id, name, region }) => (
                <Menu.RadioItem key={id} value={id} className="popup-item" closeOnClick>
                  <Menu.RadioItemIndicator keepMounted className="popup-check">
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                  <span className="clip">{name}</span>
                  <span className="muted nowrap">{region}</span>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
