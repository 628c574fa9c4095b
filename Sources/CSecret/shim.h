#pragma once
// Static inline functions for what Swift cannot import: GObject's variadic constructors, its macros, and a subclass,
// which needs a C function.
#if !__has_include(<libsecret/secret.h>)
#error "libsecret is missing. Debian, Ubuntu: apt-get install libsecret-1-dev. Homebrew: brew install libsecret"
#endif
#include <gio/gio.h>
#include <libsecret/secret.h>

// ---- A Secret Service with its own connection
//
// libsecret uses the process's shared connection to the session bus, which ends the process when the bus disconnects
// ("g-dbus-connection: exit-on-close … the process will be terminated by raise(SIGTERM)"). A library must not do that to
// an app. `SecretService` may be subclassed (secret_service_open: "service_gtype: the GType of the new secret service").
// Its constructor requests the shared connection by setting g-bus-type; ours resets that, so the property g-connection
// applies.

static inline GObject *diorama_secret_service_construct(
    GType type, guint count, GObjectConstructParam *properties) {
  GObjectClass *parent = G_OBJECT_CLASS(g_type_class_peek(SECRET_TYPE_SERVICE));
  GObject *object = parent->constructor(type, count, properties);
  g_object_set(object, "g-bus-type", G_BUS_TYPE_NONE, NULL);
  return object;
}

static inline void diorama_secret_service_class_init(gpointer type_class, gpointer data) {
  (void)data;
  G_OBJECT_CLASS(type_class)->constructor = diorama_secret_service_construct;
}

static inline GType diorama_secret_service_type(void) {
  static gsize type = 0;
  if (g_once_init_enter(&type)) {
    GTypeQuery parent;
    g_type_query(SECRET_TYPE_SERVICE, &parent);
    // The parent's class must exist when the constructor looks it up; it is never released.
    g_type_class_ref(SECRET_TYPE_SERVICE);
    GType made = g_type_register_static_simple(
        SECRET_TYPE_SERVICE, g_intern_static_string("DioramaSecretService"), (guint16)parent.class_size,
        diorama_secret_service_class_init, (guint16)parent.instance_size, NULL, (GTypeFlags)0);
    g_once_init_leave(&type, made);
  }
  return type;
}

// "The initialization of the proxy is synchronous"; NULL with an error. The service keeps the connection.
static inline SecretService *_Nullable diorama_secret_service_new(
    GDBusConnection *connection, GError *_Nullable *_Nonnull error) {
  return (SecretService *)g_initable_new(
      diorama_secret_service_type(), NULL, error, "g-connection", connection, "flags", SECRET_SERVICE_NONE, NULL);
}

// ---- Casts that are macros

static inline GDBusProxy *diorama_service_proxy(SecretService *service) { return G_DBUS_PROXY(service); }
static inline GDBusProxy *diorama_item_proxy(SecretItem *item) { return G_DBUS_PROXY(item); }

// ---- Attributes

// Creates a table; the strings are copied, and NULL ones are omitted.
static inline GHashTable *diorama_attributes_new(
    const char *schema, const char *_Nullable service, const char *_Nullable account, const char *_Nullable group) {
  GHashTable *attributes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
  g_hash_table_insert(attributes, (gpointer) "xdg:schema", g_strdup(schema));
  if (service) g_hash_table_insert(attributes, (gpointer) "service", g_strdup(service));
  if (account) g_hash_table_insert(attributes, (gpointer) "account", g_strdup(account));
  if (group) g_hash_table_insert(attributes, (gpointer) "group", g_strdup(group));
  return attributes;
}

// ---- Errors

typedef enum {
  diorama_trouble_other,
  diorama_trouble_locked,
  diorama_trouble_no_such_object,
  diorama_trouble_cancelled,
  diorama_trouble_no_provider,
  diorama_trouble_disconnected,
} diorama_trouble;

// What an error means for a credential. D-Bus errors unknown to libsecret arrive as G_IO_ERROR_DBUS_ERROR.
static inline diorama_trouble diorama_trouble_of(const GError *error) {
  if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED)) return diorama_trouble_locked;
  if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_NO_SUCH_OBJECT)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_OBJECT)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_METHOD))
    return diorama_trouble_no_such_object;
  if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) return diorama_trouble_cancelled;
  if (g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_SERVICE_NOT_FOUND)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_EXEC_FAILED)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_CHILD_EXITED))
    return diorama_trouble_no_provider;
  if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CLOSED)
      || g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY)
      || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_DISCONNECTED))
    return diorama_trouble_disconnected;
  return diorama_trouble_other;
}
