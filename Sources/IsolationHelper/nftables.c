// One rule of nftables, as a batch of nfnetlink messages (linux/netfilter/nf_tables.h). In nft(8)'s language:
//
//     table inet diorama {
//       chain intercept {
//         type filter hook prerouting priority -150
//         meta l4proto tcp tproxy to :PORT accept
//       }
//     }
#include "helper.h"
#if defined(__linux__)
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char TABLE[] = "diorama", CHAIN[] = "intercept";

static void begin(struct messages *messages, int type, int flags) {
  struct nfgenmsg header = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};
  begin_message(messages, NFNL_SUBSYS_NFTABLES << 8 | type, NLM_F_ACK | NLM_F_CREATE | flags, &header, sizeof header);
}

// A batch is applied as a whole, at its end.
static void mark(struct messages *messages, int type) {
  struct nfgenmsg header = {.version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};
  begin_message(messages, type, 0, &header, sizeof header);
}

static void add_string(struct messages *messages, int type, const char *text) {
  add_attribute(messages, type, text, strlen(text) + 1);
}

// Numbers have network byte order.
static void add_number(struct messages *messages, int type, uint32_t number) {
  number = htonl(number);
  add_attribute(messages, type, &number, sizeof number);
}

struct expression { size_t element, data; };

static struct expression begin_expression(struct messages *messages, const char *name) {
  struct expression expression = {.element = begin_nested(messages, NFTA_LIST_ELEM)};
  add_string(messages, NFTA_EXPR_NAME, name);
  expression.data = begin_nested(messages, NFTA_EXPR_DATA);
  return expression;
}

static void end_expression(struct messages *messages, struct expression expression) {
  end_nested(messages, expression.data);
  end_nested(messages, expression.element);
}

static void add_rule(struct messages *messages, unsigned short port) {
  struct expression each = begin_expression(messages, "meta");
  add_number(messages, NFTA_META_DREG, NFT_REG_1);
  add_number(messages, NFTA_META_KEY, NFT_META_L4PROTO);
  end_expression(messages, each);

  each = begin_expression(messages, "cmp");
  add_number(messages, NFTA_CMP_SREG, NFT_REG_1);
  add_number(messages, NFTA_CMP_OP, NFT_CMP_EQ);
  size_t data = begin_nested(messages, NFTA_CMP_DATA);
  const unsigned char protocol = IPPROTO_TCP;
  add_attribute(messages, NFTA_DATA_VALUE, &protocol, sizeof protocol);
  end_nested(messages, data);
  end_expression(messages, each);

  each = begin_expression(messages, "immediate");
  add_number(messages, NFTA_IMMEDIATE_DREG, NFT_REG_1);
  data = begin_nested(messages, NFTA_IMMEDIATE_DATA);
  const uint16_t number = htons(port);
  add_attribute(messages, NFTA_DATA_VALUE, &number, sizeof number);
  end_nested(messages, data);
  end_expression(messages, each);

  each = begin_expression(messages, "tproxy");
  // For both IPv4 and IPv6.
  add_number(messages, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
  add_number(messages, NFTA_TPROXY_REG_PORT, NFT_REG_1);
  end_expression(messages, each);

  each = begin_expression(messages, "immediate");
  add_number(messages, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
  data = begin_nested(messages, NFTA_IMMEDIATE_DATA);
  size_t verdict = begin_nested(messages, NFTA_DATA_VERDICT);
  add_number(messages, NFTA_VERDICT_CODE, NF_ACCEPT);
  end_nested(messages, verdict);
  end_nested(messages, data);
  end_expression(messages, each);
}

bool intercept_connections(struct isolation *isolation, unsigned short port) {
  struct messages messages = {0};
  mark(&messages, NFNL_MSG_BATCH_BEGIN);
  begin(&messages, NFT_MSG_NEWTABLE, 0);
  add_string(&messages, NFTA_TABLE_NAME, TABLE);

  begin(&messages, NFT_MSG_NEWCHAIN, 0);
  add_string(&messages, NFTA_CHAIN_TABLE, TABLE);
  add_string(&messages, NFTA_CHAIN_NAME, CHAIN);
  size_t hook = begin_nested(&messages, NFTA_CHAIN_HOOK);
  add_number(&messages, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
  add_number(&messages, NFTA_HOOK_PRIORITY, (uint32_t)-150);
  end_nested(&messages, hook);
  add_string(&messages, NFTA_CHAIN_TYPE, "filter");

  begin(&messages, NFT_MSG_NEWRULE, NLM_F_APPEND);
  add_string(&messages, NFTA_RULE_TABLE, TABLE);
  add_string(&messages, NFTA_RULE_CHAIN, CHAIN);
  size_t expressions = begin_nested(&messages, NFTA_RULE_EXPRESSIONS);
  add_rule(&messages, port);
  end_nested(&messages, expressions);
  mark(&messages, NFNL_MSG_BATCH_END);

  int netlink = open_netlink(isolation, NETLINK_NETFILTER);
  if (netlink < 0) return false;
  bool done = send_messages(isolation, netlink, &messages, "nftables: table, chain and rule with tproxy");
  close(netlink);
  return done;
}
#endif
